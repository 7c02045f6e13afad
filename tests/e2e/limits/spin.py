import os

# Four processes that never stop.
for _ in range(2):
    os.fork()
while True:
    pass
