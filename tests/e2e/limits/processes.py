import os
import sys
import threading
import time

# Half of them threads: these count too. One that cannot be started is a RuntimeError.
wanted = int(sys.argv[1]) - 1
for _ in range(wanted // 2):
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
for _ in range(wanted - wanted // 2):
    if os.fork() == 0:
        time.sleep(60)
print("ok")
