#!/usr/bin/env python3
"""What a test of a container looks at from inside: doctor, programs on the command line, and a server. Prints JSON.

    inside.py BINARY FLAG...

The flags are those of `polybox run` and `polybox serve`.
"""
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


def main():
    found = {"uid": os.geteuid(), "doctor": polybox("doctor", "--json", "--cache-dir=/nowhere/cache"), "run": {}}
    for language, (name, code) in PROGRAMS.items():
        found["run"][language] = polybox("run", "--json", *FLAGS, f"--language={language}", "-", text=code)
    found["serve"] = serve()
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
