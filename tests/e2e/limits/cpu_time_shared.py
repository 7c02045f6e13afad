import os
import sys
import time

# N ms of processor time, by four processes.
children = []
for _ in range(4):
    child = os.fork()
    if child == 0:
        while time.process_time() * 1000 < int(sys.argv[1]) / 4:
            pass
        os._exit(0)
    children.append(child)
for child in children:
    os.waitpid(child, 0)
print("ok")
