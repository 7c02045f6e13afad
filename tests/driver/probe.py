"""Asks /health of the server on port argv[1] every 10 ms until its input ends, then writes how long each answer took."""
import json
import select
import socket
import sys
import time

REQUEST = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"


def ask(connection):
    begin = time.monotonic()
    connection.sendall(REQUEST)
    read = b""
    while b"\r\n\r\n" not in read or not read.endswith(b"}\n"):
        part = connection.recv(65536)
        if not part:
            sys.exit("the server closed the connection")
        read += part
    if not read.startswith(b"HTTP/1.1 200 "):
        sys.exit(read.decode())
    return time.monotonic() - begin


def main():
    connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    times = [ask(connection)]
    print("begun", flush=True)
    while not select.select([sys.stdin], [], [], 0.01)[0]:
        times.append(ask(connection))
    print(json.dumps(times))


main()
