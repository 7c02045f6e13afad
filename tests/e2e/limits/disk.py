import os
import sys

used = sum(os.stat(name).st_blocks * 512 for name in os.listdir())
with open("file", "wb", buffering=0) as file:
    wanted = int(sys.argv[1]) - used
    while file.tell() < wanted:
        file.write(bytes(wanted - file.tell()))
print("ok")
