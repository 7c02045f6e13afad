#!/usr/bin/env python3
"""A network for tests of what a jail can reach: hosts that are on a list and hosts that are not, all of them on the
loopback of a network namespace of its own. Nothing in it can reach, or be reached from, the machine.

As a program, in fresh network and mount namespaces (prefix() has the command): world.py FOLDER COMMAND... makes it,
runs the command in it and ends with the command's status. FOLDER/reached and FOLDER/asked then have a line for every
connection or packet that a host got and for every name that was looked up.
"""
import fcntl
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading

# Whoever is not called `allowed` must never be reached.
NAMES = {
    "allowed.example": ["203.0.113.10"],
    "other.example": ["203.0.113.20", "2001:db8::20"],
    # A host that was public when it was put on a list, and has been pointed elsewhere since.
    "rebound.example": ["10.9.8.7"],
    "looped.example": ["127.0.0.1", "::1"],
}
HOSTS = {
    "203.0.113.10": "allowed",
    "203.0.113.20": "other",
    "2001:db8::20": "other-v6",
    "10.9.8.7": "private",
    "169.254.169.254": "metadata",
    "fd00::7": "private-v6",
    "127.0.0.1": "loopback",
    "::1": "loopback-v6",
}
NAME_SERVER = "203.0.113.53"
PORTS = (443, 80)
SECRET = "secret of "


def prefix(folder):
    """The command that runs what follows it in a world of its own."""
    return ["unshare", "--net", "--mount", "--propagation=private", sys.executable, str(pathlib.Path(__file__).resolve()),
            str(folder)]


def why_not():
    """Why there can be none on this machine; None when there can."""
    if os.geteuid() != 0:
        return "a network of one's own needs root"
    if not shutil.which("unshare"):
        return "unshare is not installed"
    if not pathlib.Path("/proc/net/if_inet6").exists():
        return "this kernel has no IPv6"
    missing = [file for file in BOUND if not pathlib.Path(file).exists()]
    return f"{missing} cannot be replaced: not there" if missing else None


# What names mean in the world.
BOUND = {
    "/etc/resolv.conf": f"nameserver {NAME_SERVER}\noptions timeout:1 attempts:1\n",
    "/etc/hosts": "127.0.0.1 localhost\n",
    "/etc/nsswitch.conf": "hosts: files dns\n",
}

SIOCSIFADDR, SIOCSIFFLAGS, IFF_UP = 0x8916, 0x8914, 1


def add_addresses():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as v4, socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as v6:
        fcntl.ioctl(v4, SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", IFF_UP))
        index = socket.if_nametoindex("lo")
        for number, address in enumerate([*HOSTS, NAME_SERVER]):
            if address in ("127.0.0.1", "::1"):
                continue
            if ":" in address:
                packed = socket.inet_pton(socket.AF_INET6, address)
                fcntl.ioctl(v6, SIOCSIFADDR, struct.pack("16sIi", packed, 128, index))
            else:
                # A name of its own for each, or they would replace one another.
                alias = struct.pack("16sHH4s8x", f"lo:{number}".encode(), socket.AF_INET, 0, socket.inet_aton(address))
                fcntl.ioctl(v4, SIOCSIFADDR, alias)


class World:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.lock = threading.Lock()
        for name in ("reached", "asked"):
            (self.folder / name).write_text("")

    def note(self, file, line):
        with self.lock, open(self.folder / file, "a") as out:
            out.write(line + "\n")

    def bind_files(self):
        for number, (file, text) in enumerate(BOUND.items()):
            own = self.folder / f"etc-{number}"
            own.write_text(text)
            own.chmod(0o644)
            subprocess.run(["mount", "--bind", str(own), os.path.realpath(file)], check=True)

    def start(self):
        add_addresses()
        self.bind_files()
        for address, name in HOSTS.items():
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            for port in PORTS:
                self.serve(self.listen, bound(family, socket.SOCK_STREAM, address, port), name)
                self.serve(self.hear, bound(family, socket.SOCK_DGRAM, address, port), name)
        self.serve(self.answer_names, bound(socket.AF_INET, socket.SOCK_DGRAM, NAME_SERVER, 53))

    def serve(self, function, *arguments):
        threading.Thread(target=function, args=arguments, daemon=True).start()

    def listen(self, server, name):
        server.listen(64)
        while True:
            client, _ = server.accept()
            self.note("reached", name)
            self.serve(self.converse, client, name)

    def converse(self, client, name):
        """Just enough HTTP for a program that wants to hear something."""
        with client:
            client.settimeout(30)
            try:
                request = b""
                while b"\r\n\r\n" not in request and (part := client.recv(4096)):
                    request += part
                target = request.split(b" ")[1] if request.count(b" ") > 1 else b"/"
                if target == b"/stay":
                    client.sendall(b"staying\n")
                    while client.recv(4096):
                        pass
                    self.note("reached", f"{name} left")
                    return
                moved = target.startswith(b"/to/")
                place = f"Location: http://{target[4:].decode()}/\r\n" if moved else ""
                text = SECRET + name + "\n"
                client.sendall(f"HTTP/1.1 {'302 Found' if moved else '200 OK'}\r\n{place}Connection: close\r\n"
                               f"Content-Length: {len(text)}\r\n\r\n{text}".encode())
            except OSError:
                self.note("reached", f"{name} left")

    def hear(self, server, name):
        while True:
            _, peer = server.recvfrom(4096)
            self.note("reached", name)
            server.sendto((SECRET + name).encode(), peer)

    def answer_names(self, server):
        while True:
            question, peer = server.recvfrom(4096)
            name, kind = parse_question(question)
            self.note("asked", name)
            server.sendto(answer(question, NAMES.get(name), kind), peer)


def bound(family, kind, address, port):
    server = socket.socket(family, kind)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    for _ in range(200):
        try:
            server.bind((address, port))
            return server
        except OSError:
            # A new IPv6 address can be used a moment after it was added.
            threading.Event().wait(0.02)
    server.bind((address, port))
    return server


def parse_question(packet):
    labels, at = [], 12
    while packet[at]:
        labels.append(packet[at + 1:at + 1 + packet[at]].decode("ascii", "replace"))
        at += 1 + packet[at]
    return ".".join(labels).lower(), struct.unpack("!H", packet[at + 1:at + 3])[0]


def answer(question, addresses, kind):
    """Of kind A (1) or AAAA (28); a name that is not known has no answer, and says so."""
    end = question.index(b"\0", 12) + 5
    found = []
    for address in addresses or []:
        is_v6 = ":" in address
        if kind == (28 if is_v6 else 1):
            packed = socket.inet_pton(socket.AF_INET6 if is_v6 else socket.AF_INET, address)
            found.append(struct.pack("!HHHIH", 0xC00C, kind, 1, 0, len(packed)) + packed)
    flags = 0x8180 if addresses is not None else 0x8183
    head = question[:2] + struct.pack("!HHHHH", flags, 1, len(found), 0, 0)
    return head + question[12:end] + b"".join(found)


def main():
    folder, command = sys.argv[1], sys.argv[2:]
    World(folder).start()
    process = subprocess.Popen(command)
    # Whoever wants the world to end means the command.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: process.send_signal(number))
    code = process.wait()
    return 128 - code if code < 0 else code


if __name__ == "__main__":
    sys.exit(main())
