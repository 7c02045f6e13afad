import os
import sys

for number in range(1 + len(os.listdir()), int(sys.argv[1])):
    open(f"file{number}", "w").close()
print("ok")
