import sys
from importlib import metadata, util
print("\n".join("from " + path for path in sys.path if path))
def modules(package):
    declared = package.read_text("top_level.txt")
    if declared:
        return declared.split()
    return {file.parts[0].partition(".")[0] for file in package.files or () if file.parts[0][:2] != ".."}
def importable(name):
    try:
        return name.isidentifier() and util.find_spec(name) is not None
    except Exception:
        return False
for package in metadata.distributions():
    name = package.metadata["Name"]
    if name and any(map(importable, modules(package) or [name.replace("-", "_")])):
        print("package", name)
