import os
import sys

held = len(os.listdir("/proc/self/fd")) - 1  # without the listing itself
for _ in range(int(sys.argv[1]) - held):
    os.open("/dev/null", os.O_RDONLY)
print("ok")
