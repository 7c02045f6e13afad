import sys

sys.setrecursionlimit(1 << 30)


def stack():
    for line in open("/proc/self/status"):
        if line.startswith("VmStk"):
            return int(line.split()[1]) * 1024


def descend(depth):
    """Through map(), because only a call out of C needs the stack."""
    if depth % 8 == 0 and stack() >= int(sys.argv[1]):
        return 0
    return next(map(descend, [depth + 1]))


descend(0)
print("ok")
