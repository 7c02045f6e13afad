import sys
import time

# Ten times: N ms of processor time, then nothing until 100 ms are over.
for _ in range(10):
    begin = time.monotonic()
    used = time.process_time()
    while (time.process_time() - used) * 1000 < int(sys.argv[1]):
        pass
    time.sleep(max(0, begin + 0.1 - time.monotonic()))
print("ok")
