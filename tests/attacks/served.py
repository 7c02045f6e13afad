"""One session after the other in one slot: attacks that need a server, since `polybox run` makes a slot for each program.

A server takes the programs of an attack, `before` and then `code`, each in a session of its own. Which slot a program was in
is told by its mount namespace, whose number the programs print; a round whose programs met in different slots, or that
was not warm where it should have been, is repeated.
"""
import base64
import contextlib
import http.client
import json
import os
import pathlib
import re
import shlex
import signal
import socket
import subprocess
import time

import marker

ROUNDS = 20
# Between two requests: a slot is made ready after its answer was given.
PAUSE = 0.2
TIMEOUT = 60
LANGUAGES = pathlib.Path(__file__).resolve().parent.parent.parent / "languages"
REQUIREMENT = "set-of-the-attack"
MARK = "slot-is-"
# What starts a program of the base directory.
COMMANDS = {"bash": "bash", "python": "python3"}
BASE_DIR_LIMITS = ["--base-dir-size=32MiB", "--base-dir-files=2000"]

# A first line for each program, which says where it is.
SAYS_WHERE = {
    "python": "import os, sys; print('" + MARK + "' + os.readlink('/proc/self/ns/mnt'), file=sys.stderr)\n",
    "node": "console.error('" + MARK + "' + require('fs').readlinkSync('/proc/self/ns/mnt'));\n",
    "ruby": "$stderr.puts '" + MARK + "' + File.readlink('/proc/self/ns/mnt')\n",
    "bash": "echo " + MARK + "$(readlink /proc/self/ns/mnt) >&2\n",
}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def with_installer(language, files):
    """The language file with an installer that installs these files, whatever is asked for."""
    text = (LANGUAGES / f"{language}.toml").read_text()
    script = "mkdir -p $0"
    for name, content in files.items():
        target = f'"$0"/{shlex.quote(name)}'
        packed = base64.b64encode(content.encode()).decode()
        script += f" && mkdir -p $(dirname {target}) && echo {packed} | base64 -d > {target}"
    install = f"install = ['sh', '-c', '''{script}''', '{{target}}', '{{requirements}}']"
    text, count = re.subn(r"^install = \[.*?\]$", lambda _: install, text, count=1, flags=re.MULTILINE | re.DOTALL)
    assert count == 1, f"{language}.toml has no installer"
    text = re.sub(r'^binaries = \["(?:uv|npm|gem)"\]$', 'binaries = ["sh"]', text, flags=re.MULTILINE)
    return re.sub(r"^(index_arguments|pass_env|pass_files) = \[.*?\]$", "", text, flags=re.MULTILINE | re.DOTALL)


class Server:
    """`polybox serve` in a place, started as the grade starts polybox."""

    def __init__(self, grade, attack, place, environment):
        self.attack, self.port, self.address = attack, free_port(), "127.0.0.1"
        command = [*grade.command, "serve", "--listen", f"127.0.0.1:{self.port}", "--max-concurrent=1",
                   "--max-concurrency=1", "--warm-slots=1", f"--warm={'on' if grade.warm else 'off'}",
                   f"--min-isolation={grade.name}"]
        command += os.environ.get("POLYBOX_SERVE", "").split()
        if "packages" in attack:
            folder = place.path / "languages"
            folder.mkdir(mode=0o755)
            (folder / f"{attack['language']}.toml").write_text(with_installer(attack["language"], attack["packages"]))
            command += ["--languages-dir", str(folder)]
        if attack.get("base_dir"):
            command += ["--base-dir", str(place.path / "base"), *BASE_DIR_LIMITS]
            command += [f"--command-timeout={attack['timeout']}"] if "timeout" in attack else []
        self.log = open(place.path / "server.log", "w+b")
        self.process = subprocess.Popen(command, env=environment, cwd=place.path / "place", stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log, start_new_session=True)

    def said(self):
        self.log.seek(0)
        return self.log.read().decode("utf-8", "replace")[-3000:]

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(TIMEOUT)
        finally:
            self.process.kill()
            self.process.wait()
            self.log.close()

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)
        with contextlib.closing(connection):
            connection.request(method, path, json.dumps(body) if body else None)
            answer = connection.getresponse()
            return answer.status, answer.read().decode("utf-8", "replace")

    def await_ready(self):
        deadline = time.monotonic() + TIMEOUT
        while time.monotonic() < deadline and self.process.poll() is None:
            with contextlib.suppress(OSError):
                if self.ask("GET", "/healthz")[0] == 200:
                    return True
            time.sleep(0.05)
        return False

    def warm_runs(self):
        counts = re.findall(r"^polybox_warm_runs_total{.*} (\d+)$", self.ask("GET", "/metrics")[1], re.MULTILINE)
        return sum(map(int, counts))

    def run(self, code):
        """A program in a session of its own: its result, the slot that it was in, and whether it was warm."""
        language = self.attack["language"]
        body = {"language": language, "code": SAYS_WHERE[language] + code}
        if "packages" in self.attack:
            body["requirements"] = [REQUIREMENT]
        warm_before = self.warm_runs()
        status, text = self.ask("POST", "/execute", body)
        result = json.loads(text) if status == 200 else {"stdout": "", "stderr": f"status {status}: {text}"}
        where = re.search(re.escape(MARK) + r"(mnt:\[\d+\])", result["stderr"])
        return result, where[1] if where else None, self.warm_runs() > warm_before


def command(grade, attack, place, environment, run_client):
    """What an attack against the base directory said as a command of the runtime API, or an error text.

    The program is a file of the base directory. `run_client` starts the attack's client program beside the server.
    """
    with contextlib.closing(Server(grade, attack, place, environment)) as server:
        if not server.await_ready():
            return None, f"the server does not answer\n{server.said()}"
        status, text = server.ask("POST", "/execute", {"command": f"{COMMANDS[attack['language']]} {place.program.name}"})
        if status != 200:
            return None, f"the command was refused\n{text}"
        result = json.loads(text)
        if result["isolation"] != grade.name:
            return None, f"isolation is {result['isolation']}, not {grade.name}"
        # Where polybox has ended the command, what there was until then.
        result["stdout"] += result.get("partial_stdout") or ""
        result["stderr"] += result.get("partial_stderr") or ""
        if "client" in attack:
            result["stdout"] += run_client(server.port, server.process.pid)
        if server.process.poll() is not None or server.ask("GET", "/healthz")[0] != 200:
            return None, f"the server is gone\n{server.said()}"
        return result, ""


def marked(attack, text):
    return marker.with_helper(attack["language"], text)


def run_round(server, programs, pause):
    """The results of the programs, and whether all were in one slot, and all warm."""
    slots, warm, results = set(), [], []
    for program in programs:
        result, slot, was_warm = server.run(program)
        slots.add(slot)
        warm.append(was_warm)
        results.append(result)
        # sleeps: a request that comes too early gets another slot, and the round is then repeated.
        time.sleep(pause)
    return results, len(slots) == 1 and None not in slots, all(warm)


def silent(place, programs, results):
    """The programs before the attack that have a marker and did not print it."""
    return [number for number, (program, result) in enumerate(zip(programs[:-1], results))
            if marker.CALL.search(program) and place.marks.words["code"] not in result["stderr"]]


def meet(grade, attack, place, environment):
    """What the attack said after the programs before it had the same slot; or an error text."""
    programs = [*attack["before"], attack["code"]]
    with contextlib.closing(Server(grade, attack, place, environment)) as server:
        if not server.await_ready():
            return None, f"the server does not answer\n{server.said()}"
        results = []
        must_be_warm = grade.warm and not attack.get("cold")
        for number in range(1, ROUNDS + 1):
            # A busy machine needs longer to make a slot ready again.
            results, together, warm = run_round(server, [place.expand(marked(attack, text)) for text in programs], PAUSE * min(number, 5))
            if together and (warm or not must_be_warm):
                if attack.get("cold") and grade.warm and warm:
                    return None, f"it was warm, though it is stated to start cold\n{results[-1]}"
                if missing := silent(place, programs, results):
                    return None, f"programs {missing} before it did not print their markers\n{results}"
                return results[-1], ""
        return None, f"never {'warm and ' if must_be_warm else ''}in one slot\n{results[-1:]}\n{server.said()}"
