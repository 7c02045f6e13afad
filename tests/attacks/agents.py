"""Attacks as commands of a coding agent: Bash in the jail of a workspace, which `polybox mcp` offers.

The directory of the attack is the workspace. The server ends before the attack's teardown, so that the teardown sees who
outlived it. As a program (agents.py START FILE) it is what {run} stands for: it runs a file in a workspace of its own and
prints what the file prints.
"""
import base64
import json
import os
import pathlib
import queue
import re
import shlex
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "driver"))

import mcp_client  # noqa: E402 (it is found there)

# A user without processes and files on any machine.
OWNER = 64123
# For an attack that says nothing else, in seconds: as `polybox run` has it.
TIMEOUT = 30
# For whatever the server does beside the command.
PATIENCE = 60
# More than any program of an attack needs, and less than the 200 at which attacks count as successful.
PROCESSES = 150
# The most that an answer can have.
BUDGET = 100_000
WORDS = r"reached-[0-9a-f]{16}|ESCAPED"
NOT_COMPILED = "the-attack-was-not-compiled"
COMPILED = "gcc -std=gnu17 -O2 -w -pthread -o attack {file} -lm || {{ echo " + NOT_COMPILED + "; exit 1; }}; exec ./attack"
# What runs a file; exec, so that the attack's parent is what holds it.
COMMANDS = {"bash": "exec bash {file}", "python": "exec python3 {file}", "c": COMPILED, "node": "exec node {file}",
            "ruby": "exec ruby {file}", "perl": "exec perl {file}", "php": "exec php {file}", "lua": "exec lua5.1 {file}",
            "java": "exec java {file}", "go": "exec go run {file}"}


class Failed(Exception):
    """What the server did not do."""


class Agent:
    """Calls the tools of one server."""

    def __init__(self, server):
        self.server, self.calls = server, 0

    def answer(self, name, patience=PATIENCE, **arguments):
        self.calls += 1
        try:
            self.server.send(mcp_client.request(self.calls, "tools/call", name=name, arguments=arguments))
            message = self.server.take(timeout=patience)
        except (OSError, queue.Empty) as error:
            raise Failed(f"{name} was not answered: {error!r}")
        if message is None or "result" not in message:
            raise Failed(f"{name} was answered with {message}")
        return message["result"]

    def call(self, name, **arguments):
        """The data of an answer that is no error."""
        result = self.answer(name, **arguments)
        if result["isError"]:
            raise Failed(f"{name}: {result['content']}")
        return result["structuredContent"]

    def run(self, command, timeout):
        """The data of the command, with its whole text; lines that an answer leaves out are searched for words that count."""
        result = self.answer("Bash", patience=timeout + PATIENCE, command=command, timeout=timeout, soft_timeout=600,
                             budget_tokens=BUDGET)
        said = "\n".join(block["text"] for block in result["content"] if block["type"] == "text")
        if result["isError"]:
            raise Failed(f"Bash: {said}")
        data = result["structuredContent"]
        if data["left_out_bytes"]:
            found = self.call("output_query", shell_id=data["shell_id"], pattern=WORDS)
            said += "\n" + "\n".join(line["text"] for line in found["lines"])
        return data | {"said": said}


def seconds_of(attack):
    return int(re.sub(r"s$", "", attack["timeout"])) if "timeout" in attack else TIMEOUT


def flags_of(attack):
    flags = [f"--workspace-processes={PROCESSES}", *([f"--workspace-memory={attack['memory']}"] if "memory" in attack else [])]
    return flags + [f"--workspace-egress={host}" for host in attack.get("guest_egress", [])]


def check_next_command(agent, data):
    """Whatever a command did, the next one must run. Where no memory is left, some commands find that out."""
    if data.get("shell_id") and data["children_running"]:
        agent.call("KillShell", shell_id=data["shell_id"])
    for _ in range(4):
        last = agent.run("echo still-$((40 + 2))", PATIENCE)
        if "still-42" in last["said"]:
            return
        if "for want of memory" not in last["said"]:
            break
    raise Failed(f"the next command did not run: {last}")


def run(grade, attack, place, environment):
    """What the attack's command and the server said, and the data of its answer."""
    place.give_workspace(grade.owner())
    command = [*place.prefix(), *grade.mcp(), "--workspace", place.path / "place", *flags_of(attack)]
    with mcp_client.Server(command, env=environment, cwd=place.path / "place") as server:
        agent = Agent(server)
        try:
            file = shlex.quote(place.program.name)
            data = agent.run(COMMANDS[attack["language"]].format(file=file), seconds_of(attack))
            check_next_command(agent, data)
            code, _ = server.end(PATIENCE)
        except Exception as failure:
            server.process.kill()
            server.process.wait()
            for thread in server.threads:
                thread.join()
            raise Failed(f"{failure}\n{server.errors.decode(errors='replace')[-3000:]}")
        if code != 0:
            raise Failed(f"the server ended with {code}\n{server.errors.decode(errors='replace')[-3000:]}")
        return data


def word_for(start):
    """What a program starts itself with, beside an attack: no shell changes this word."""
    return base64.b64encode(json.dumps(start).encode()).decode()


def run_beside(start, file):
    """A file in a workspace of its own; what it prints, as it comes."""
    language = "python" if file.suffix == ".py" else "bash"
    folder = pathlib.Path(tempfile.mkdtemp(dir=file.parent, prefix="beside-"))
    folder.chmod(0o755)
    shutil.copy(file, folder)
    for path in (folder, folder / file.name):
        os.chown(path, start["owner"], -1)
    with mcp_client.Server([*start["command"], "--workspace", folder], cwd=folder) as server:
        agent = Agent(server)
        command = COMMANDS[language].format(file=shlex.quote(file.name))
        shell, cursor = agent.call("Bash", command=command, run_in_background=True)["shell_id"], ""
        while True:
            data = agent.call("BashOutput", shell_id=shell, since=cursor, wait=1, budget_tokens=BUDGET)
            cursor = data["cursor"]
            for stream in data["streams"]:
                out = sys.stderr if stream["name"] == "stderr" else sys.stdout
                print(stream["content"], end="", file=out, flush=True)
            if data["status"] != "running":
                server.end(PATIENCE)
                return data.get("exit_code") or 0


if __name__ == "__main__":
    sys.exit(run_beside(json.loads(base64.b64decode(sys.argv[1])), pathlib.Path(sys.argv[2])))
