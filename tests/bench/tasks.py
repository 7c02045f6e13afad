"""From a program and a contestant to a task of worker.py. Programs are built once, in folders of their own."""
import base64
import json
import os
import pathlib
import shutil
import subprocess
import urllib.parse

# What every program finds in its environment, bare or jailed: nothing of whoever measures.
CLEAN = {"PATH": "/usr/bin:/bin"}
BUILD_TIMEOUT = 300


class Unfit(Exception):
    """This contestant cannot run this program; the reason."""


def expand(words, values):
    """Replaces {name}; a list takes the place of a word that is only its name."""
    expanded = []
    for word in words:
        if isinstance(values.get(word[1:-1]), list) and word[:1] == "{":
            expanded += values[word[1:-1]]
            continue
        for name, value in values.items():
            if isinstance(value, str):
                word = word.replace("{" + name + "}", value)
        expanded.append(word)
    return expanded


class Program:
    """A row of programs.toml, built and with its files in place."""

    def __init__(self, row, language, folder):
        self.row, self.name, self.title = row, row["name"], row["title"]
        self.language, self.code = row["language"], row["code"].lstrip("\n")
        self.folder = pathlib.Path(folder) / self.name
        self.folder.mkdir()
        self.serve = row.get("serve", [])
        self.roots = language["roots"]
        self.values = {"executable": language["executable"], "root": language["root"], "folder": str(self.folder),
                       "source": str(self.folder / self.file_name(language)), "out": str(self.folder / "program")}
        count, size = row.get("input_files", [0, 0])
        self.inputs = {f"input{i}.txt": "x" * size for i in range(count)}
        for name, text in (self.inputs | {self.file_name(language): self.code}).items():
            (self.folder / name).write_text(text)
        self.build()

    def file_name(self, language):
        # javac wants the name of the class.
        return "Main.java" if self.language == "java" else "main" + language["extensions"][0]

    def build(self):
        if "build" not in self.row:
            return
        env = CLEAN | {name: expand([value], self.values)[0] for name, value in self.row.get("build_env", {}).items()}
        done = subprocess.run(expand(self.row["build"], self.values), env=env, cwd=self.folder, capture_output=True,
                              text=True, timeout=BUILD_TIMEOUT)
        if done.returncode != 0:
            raise Unfit(f"it cannot be built: {done.stderr[-300:]}")

    @property
    def is_binary(self):
        """Whether the build makes one file that runs by itself."""
        return "command" not in self.row

    def command(self):
        return expand(self.row.get("command", ["{out}"]), self.values)

    def env(self):
        return CLEAN | {name: expand([value], self.values)[0] for name, value in self.row.get("env", {}).items()}

    def directories(self):
        """What a jail has to show beside /usr and /etc."""
        shown = [root for root in self.roots if not root.startswith("/usr/") and root != "/usr"]
        return [*shown, str(self.folder)]

    def is_right(self, output):
        if "stdout_bytes" in self.row:
            return len(output.encode()) == self.row["stdout_bytes"]
        return output == self.row["stdout"]


class Contestant:
    """A row of contestants.toml that takes part: `server` is our own, `scratch` a folder for what it needs."""

    def __init__(self, row, server, scratch):
        self.name, self.title, self.note, self.kind, self.row = (
            row["name"], row["title"], row["note"], row["kind"], row)
        self.server, self.scratch = server, pathlib.Path(scratch)
        self.needs = shutil.which(row["needs"], path=os.environ["PATH"] + ":/usr/sbin") if "needs" in row else None

    def absent(self):
        """Why it does not take part; "" when it does."""
        if "address" in self.row and not os.environ.get(self.row["address"]):
            return f"{self.row['address']} is not set"
        if "needs" in self.row and not self.needs:
            return f"{self.row['needs']} is not installed"
        return ""

    def task(self, program):
        return KINDS[self.kind](self, program)

    def output(self, answer):
        """What the program said, from an answer."""
        return OUTPUTS.get(self.kind, str)(answer)

    def request(self, path, body, good):
        host, port = "127.0.0.1", self.server.port
        if "address" in self.row:
            url = urllib.parse.urlsplit(os.environ[self.row["address"]])
            host, port = url.hostname, url.port or 80
        return {"host": host, "port": port, "path": path, "body": json.dumps(body), "good": good}


def spawn(contestant, program):
    binds = [word for path in program.directories()
             for word in expand(contestant.row.get("bind", []), {"path": path})]
    prefix = expand(contestant.row.get("prefix", []), program.values | {"needs": contestant.needs or "", "binds": binds})
    return {"argv": [*prefix, *program.command()], "env": program.env(), "cwd": str(program.folder)}


def runc(contestant, program):
    bundle = contestant.scratch / f"runc-{program.name}"
    rootfs = bundle / "rootfs"
    if not bundle.exists():
        rootfs.mkdir(parents=True)
        for link, target in {"bin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64"}.items():
            (rootfs / link).symlink_to(target)

    def shown(path):
        return {"destination": path, "type": "bind", "source": path, "options": ["rbind", "ro"]}
    config = {
        "ociVersion": "1.0.0", "root": {"path": "rootfs", "readonly": False}, "hostname": "sandbox",
        "process": {"user": {"uid": 65534, "gid": 65534}, "args": program.command(), "cwd": str(program.folder),
                    "env": [f"{name}={value}" for name, value in program.env().items()], "noNewPrivileges": True},
        "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"},
                   {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
                   {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev"]},
                   *[shown(path) for path in ["/usr", "/etc", *program.directories()]]],
        "linux": {"namespaces": [{"type": kind} for kind in ("pid", "ipc", "mount", "network", "uts")]}}
    (bundle / "config.json").write_text(json.dumps(config))
    return {"argv": [contestant.needs, "run", "--bundle", str(bundle), "{id}"], "env": CLEAN,
            "cwd": str(program.folder)}


def execute(contestant, program):
    body = {"language": program.language, "code": program.code}
    if program.inputs:
        body["files"] = {name: base64.b64encode(text.encode()).decode() for name, text in program.inputs.items()}
    return contestant.request("/execute", body, ['"exit_code":0,'])


def command(contestant, program):
    if not program.is_binary:
        raise Unfit("it is no binary")
    binary = pathlib.Path(contestant.server.folder.name) / "base" / program.name
    if not binary.exists():
        shutil.copy(program.values["out"], binary)
        binary.chmod(0o755)
    return contestant.request("/execute", {"command": f"./{program.name}"}, ['"exit_code":0'])


def run(contestant, program):
    if len(program.inputs) > 9:
        raise Unfit("its door does not take so many files")
    name = pathlib.Path(program.values["source"]).name
    files = [{"name": name, "content": program.code}] + [
        {"name": each, "content": text} for each, text in program.inputs.items()]
    return contestant.request("/v1/run", {"runtime": program.language, "files": files}, ['"exit_code":0,'])


def go_judge(contestant, program):
    copied = {pathlib.Path(program.values["source"]).name: {"content": program.code}}
    copied |= {name: {"content": text} for name, text in program.inputs.items()}
    words = [pathlib.Path(word).name if word.startswith(str(program.folder)) else word for word in program.command()]
    if program.is_binary:
        copied = {"program": {"src": program.values["out"]}}
        words = ["program"]
    step = {"args": words, "env": [f"{name}={value}" for name, value in program.env().items()], "copyIn": copied,
            "files": [{"content": ""}, {"name": "stdout", "max": 1 << 22}, {"name": "stderr", "max": 1 << 16}],
            "cpuLimit": 10 ** 10, "memoryLimit": 1 << 30, "procLimit": 64}
    return contestant.request("/run", {"cmd": [step]}, ['"status":"Accepted"'])


KINDS = {"spawn": spawn, "runc": runc, "execute": execute, "command": command, "run": run, "go-judge": go_judge}
OUTPUTS = {
    "execute": lambda answer: json.loads(answer)["stdout"],
    "command": lambda answer: json.loads(answer)["stdout"],
    "run": lambda answer: base64.b64decode(json.loads(answer)["run"]["stdout"]).decode(),
    "go-judge": lambda answer: json.loads(answer)[0]["files"]["stdout"],
}
