import os
import sys

wanted = int(sys.argv[1])
os.write(2, b"e" * (wanted // 2))
os.write(1, b"o" * (wanted - wanted // 2))
