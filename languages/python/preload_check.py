import importlib, sys
try:
    importlib.import_module(sys.argv[1])
except BaseException as error:
    sys.exit(f"{type(error).__name__}: {error}")
