import sys
import time

while time.process_time() * 1000 < int(sys.argv[1]):
    pass
print("ok")
