import sys

held = b"x" * int(sys.argv[1])
print("ok")
