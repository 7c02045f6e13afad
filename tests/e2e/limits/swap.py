import sys

held = b"x" * int(sys.argv[1])
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmSwap")), "KiB in swap")
