import mmap
import os
import sys

statm = os.open("/proc/self/statm", os.O_RDONLY)


def mapped():
    return int(os.pread(statm, 100, 0).split()[0]) * mmap.PAGESIZE


# Twice: the first time Python itself may need more.
wanted = int(sys.argv[1])
for less in (1 << 20, 0):
    block = mmap.mmap(-1, wanted - less - mapped())
    assert mapped() == wanted - less
    if less:
        block.close()
print("ok")
