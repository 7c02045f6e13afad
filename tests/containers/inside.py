#!/usr/bin/env python3
"""What a test of a container looks at from inside: doctor, programs on the command line, a server, and an agent in a
workspace. Prints JSON.

    inside.py BINARY FLAG...

The flags are those of `polybox run` and `polybox serve`.
"""
import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request

BINARY, *WISHES = sys.argv[1:]
PORT = 18080
URL = f"http://127.0.0.1:{PORT}"
PROGRAMS = {
    "python": ("hello.py", 'print("hello")\n'),
    "bash": ("hello.sh", "echo hello\n"),
    "c": ("hello.c", '#include <stdio.h>\nint main(void) { puts("hello"); }\n'),
}
FLAGS = [*WISHES, "--cache-dir=/nowhere/cache"]
SECONDS = 60


def polybox(*args, text=None):
    done = subprocess.run([BINARY, *args], input=text, capture_output=True, text=True, timeout=SECONDS)
    return {"code": done.returncode, "out": done.stdout, "err": done.stderr}


UPLOAD = b'--B\r\nContent-Disposition: form-data; name="file"; filename="uploaded"\r\n\r\nhello\n\r\n--B--\r\n'


def ask(path, body=None, kind="application/json"):
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    request = urllib.request.Request(URL + path, data, {"Content-Type": kind})
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return {"status": answer.status, "body": answer.read().decode()}
    except urllib.error.HTTPError as error:
        return {"status": error.code, "body": error.read().decode()}


def wait_for(process):
    """Until the server answers; False when it has ended."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            urllib.request.urlopen(URL + "/", timeout=SECONDS)
            return True
        except urllib.error.HTTPError:
            return True
        except OSError:
            time.sleep(0.02)
    return False


def serve():
    process = subprocess.Popen([BINARY, "serve", *FLAGS, f"--listen=127.0.0.1:{PORT}", "--mode=python"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    answers = {}
    if wait_for(process):
        answers["health"] = ask("/health")
        answers["ready"] = ask("/readyz")
        answers["execute"] = ask("/execute", {"code": "print('hello')"})
        # Again in the same slot, and a command of the runtime API.
        answers["again"] = ask("/execute", {"code": "print('hello')"})
        answers["command"] = ask("/execute", {"command": "echo hello"})
        answers["upload"] = ask("/upload", UPLOAD, "multipart/form-data; boundary=B")
        answers["uploaded"] = ask("/execute", {"command": "cat uploaded"})
        answers["after"] = ask("/health")
    process.terminate()
    answers["err"] = process.communicate(timeout=SECONDS)[1]
    answers["code"] = process.returncode
    return answers


# Calls of an agent, in this order.
CALLS = [
    ("write", "Write", {"file_path": "{}/word.txt", "content": "hello\n"}),
    ("bash", "Bash", {"command": "cat word.txt && echo made > made && echo kept > $TMPDIR/kept; exit 3"}),
    ("again", "Bash", {"command": "cat $TMPDIR/kept"}),
]


def make_workspace():
    """A directory of a user who is not root, if root may give it away."""
    for place in ("/tmp", "/dev/shm"):
        path = f"{place}/workspace"
        try:
            os.mkdir(path)
        except OSError:
            continue
        try:
            os.chown(path, 1000 if os.geteuid() == 0 else -1, -1)
        except OSError:
            pass
        return path
    return None


def work():
    """What the calls of an agent give."""
    path = make_workspace()
    if path is None:
        return None
    flags = ["--workspace-as-root"] if os.stat(path).st_uid == 0 else []
    process = subprocess.Popen([BINARY, "mcp", *FLAGS, *flags, "--workspace", path], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines = []
    for number, (_, name, arguments) in enumerate(CALLS):
        arguments = {key: value.replace("{}", path) for key, value in arguments.items()}
        meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
        params = {"_meta": meta, "name": name, "arguments": arguments}
        with contextlib.suppress(BrokenPipeError):  # It has refused to start.
            process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}) + "\n")
            process.stdin.flush()
        # One after another: calls run beside each other.
        lines.append(process.stdout.readline())
    _, err = process.communicate(timeout=SECONDS)
    results = {name: json.loads(line or "{}").get("result") for (name, _, _), line in zip(CALLS, lines)}
    owners = {name: os.lstat(f"{path}/{name}").st_uid for name in os.listdir(path)}
    return {"owner": os.stat(path).st_uid, "owners": owners, "results": results, "err": err, "code": process.returncode}


def main():
    found = {"uid": os.geteuid(), "doctor": polybox("doctor", "--json", "--cache-dir=/nowhere/cache"), "run": {}}
    for language, (name, code) in PROGRAMS.items():
        found["run"][language] = polybox("run", "--json", *FLAGS, f"--language={language}", "-", text=code)
    found["serve"] = serve()
    found["agent"] = work()
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
