#!/usr/bin/env python3
"""Runs a command under a seccomp filter that answers some system calls with an errno, as profiles of containers do.

    refuse.py clone3=ENOSYS sethostname=EPERM -- COMMAND...

Without CAP_SYS_ADMIN the command gets no_new_privs as well, which the kernel then asks for.
"""
import ctypes
import errno
import os
import platform
import struct
import sys

# Numbers by machine; clone3 is the same everywhere.
CALLS = {
    "x86_64": {"arch": 0xC000003E, "clone3": 435, "sethostname": 170, "unshare": 272, "mount": 165, "open_tree": 428,
               "fsopen": 430, "setns": 308},
    "aarch64": {"arch": 0xC00000B7, "clone3": 435, "sethostname": 161, "unshare": 97, "mount": 40, "open_tree": 428,
                "fsopen": 430, "setns": 268},
}[platform.machine()]
LOAD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050000
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, FILTER_MODE = 22, 38, 2


def program(answers):
    """BPF: loads the architecture and the number of the call, and compares it with each."""
    steps = [(LOAD, 0, 0, 4), (JUMP_EQUAL, 1, 0, CALLS["arch"]), (RETURN, 0, 0, ALLOW), (LOAD, 0, 0, 0)]
    for name, error in answers:
        steps += [(JUMP_EQUAL, 0, 1, CALLS[name]), (RETURN, 0, 0, REFUSE | getattr(errno, error))]
    return [*steps, (RETURN, 0, 0, ALLOW)]


def install(answers):
    steps = program(answers)
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    for _ in range(2):
        if libc.prctl(PR_SET_SECCOMP, FILTER_MODE, header, 0, 0) == 0:
            return
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    raise OSError(ctypes.get_errno(), "cannot install the filter")


def main():
    end = sys.argv.index("--")
    install([pair.split("=") for pair in sys.argv[1:end]])
    os.execvp(sys.argv[end + 1], sys.argv[end + 1:])


if __name__ == "__main__":
    main()
