import sys

with open("/tmp/file", "wb", buffering=0) as file:
    wanted = int(sys.argv[1])
    while file.tell() < wanted:
        file.write(bytes(wanted - file.tell()))
print("ok")
