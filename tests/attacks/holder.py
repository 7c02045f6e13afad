#!/usr/bin/env python3
"""Holds a canary as a cell holds its guest, but for one thing: it leaves its socket open in it, at descriptor 62.

Usage: holder.py PROGRAM [ARGUMENT...]. Whatever comes over the socket is taken for a word of the one who tells how a program
ended: then it prints ESCAPED. ATTACK_TOKEN stays in its own environment.
"""
import os
import socket
import subprocess
import sys

SOCKET = 62
LARGEST = 1 << 16


def main():
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    os.dup2(theirs.fileno(), SOCKET, inheritable=True)
    theirs.close()
    environment = {name: value for name, value in os.environ.items() if name != "ATTACK_TOKEN"}
    code = subprocess.run(sys.argv[1:], env=environment, pass_fds=[SOCKET]).returncode
    os.close(SOCKET)
    ours.settimeout(1)
    if word := ours.recv(LARGEST):
        print("ESCAPED:", word[:64], flush=True)
    sys.exit(code if code >= 0 else 128 - code)


main()
