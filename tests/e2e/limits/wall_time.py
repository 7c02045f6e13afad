import sys
import time

time.sleep(int(sys.argv[1]) / 1000)
print("ok")
