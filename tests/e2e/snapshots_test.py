"""The snapshot tools of `polybox mcp` in repositories that are made to influence git, and beside commands."""
import contextlib
import os
import pathlib
import shutil
import subprocess
import tomllib

from mcp_client import Server, request
from coding_agent import PATIENCE, agent

HOSTILE = tomllib.loads((pathlib.Path(__file__).parent / "snapshots/hostile.toml").read_text())["case"]
TOOLS = ["snapshot_create", "snapshot_delete", "snapshot_diff", "snapshot_list", "snapshot_restore"]


class Repository:
    """A project with one commit and a trap, a second repository, and a program that makes a file when it is executed."""

    def __init__(self, box, case):
        self.box, self.case = box, case
        self.work, self.other = box.path / "work", box.path / "other"
        self.canary = box.path / "canary"
        self.program = box.write("trap.sh", f"#!/bin/sh\ntouch {self.canary}\ncat\n", mode=0o755)
        for folder in (self.work, self.other):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            (folder / "a.txt").write_text("one\n")
            self.run("git init -q -b main && git add a.txt && git commit -qm first", folder, {})
        self.env = {name: self.filled(value) for name, value in case.get("env", {}).items()}
        with open(self.work / ".git/config", "a") as config:
            config.write(self.filled(case.get("config", "")))
        for path, text in case.get("files", {}).items():
            box.write(f"work/{path}", self.filled(text), mode=0o755 if text.startswith("#!") else 0o644)
        (self.work / "a.txt").write_text("changed\n")

    def filled(self, text):
        for name, value in (("canary", self.program), ("other", self.other), ("work", self.work)):
            text = text.replace("{" + name + "}", str(value))
        return text

    def run(self, command, folder, env):
        clean = {"PATH": os.environ["PATH"], "HOME": str(self.box.path / "home"), "GIT_CONFIG_NOSYSTEM": "1",
                 "GIT_AUTHOR_NAME": "n", "GIT_AUTHOR_EMAIL": "e", "GIT_COMMITTER_NAME": "n",
                 "GIT_COMMITTER_EMAIL": "e", "GIT_PAGER": "cat"}
        return subprocess.run(command, shell=True, cwd=folder, env=clean | env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=PATIENCE)

    def trap_works(self):
        """Whether git falls into the trap, in a copy of the project."""
        copy = self.box.path / "copy"
        shutil.copytree(self.work, copy, symlinks=True)
        done = self.run(self.filled(self.case["trigger"]), copy, self.env)
        caught = self.canary.exists()
        self.canary.unlink(missing_ok=True)
        shutil.rmtree(copy)
        assert caught, f"{self.case['name']}: {done.stdout}{done.stderr}"


@contextlib.contextmanager
def tools_of(box, repository, *flags):
    command = [box.binary, "mcp", "--workspace", repository.work, "--tools=snapshots", *flags]
    with Server(command, env=box.env(repository.env), cwd=box.path) as server:
        count = iter(range(1, 1000))

        def call(tool, /, **arguments):
            server.send(request(next(count), "tools/call", name=tool, arguments=arguments))
            return server.take(timeout=PATIENCE)["result"]
        yield call
        code, _ = server.end()
        assert code == 0, server.errors


def text_of(result):
    assert not result["isError"], result
    return result["content"][0]["text"]


def test_no_repository_makes_a_snapshot_tool_execute_anything(box):
    for case in HOSTILE:
        repository = Repository(box, case)
        repository.trap_works()
        with tools_of(box, repository) as call:
            for step, (name, arguments) in enumerate([
                    ("snapshot_create", {"name": "s"}), ("snapshot_list", {}), ("snapshot_diff", {"name": "s"}),
                    ("snapshot_restore", {"name": "s"}), ("snapshot_diff", {"name": "s"}),
                    ("snapshot_delete", {"name": "s"})]):
                text_of(call(name, **arguments))
                assert not repository.canary.exists(), f"{case['name']}: {name}"
                if step == 2:
                    (repository.work / "a.txt").write_text("changed again\n")
        assert (repository.work / "a.txt").read_text() == "changed\n", case["name"]


def test_a_repository_cannot_choose_what_is_saved(box):
    """Settings that would make git leave out, add or change files."""
    config = ("[core]\n\tworktree = {other}\n\tautocrlf = true\n\tfilemode = false\n\tsymlinks = false\n"
              "\tsparseCheckout = true\n\texcludesFile = .git/all\n\tignoreCase = true\n\tquotePath = true\n"
              "[index]\n\tsparse = true\n[submodule]\n\tactive = .\n")
    files = {".git/info/sparse-checkout": "!/*\n", ".git/all": "*\n", ".gitattributes": "* text=auto eol=crlf ident\n",
             ".git/info/grafts": "0" * 40 + "\n", ".git/refs/replace/" + "0" * 40: "1" * 40 + "\n",
             ".git/objects/info/alternates": "{other}/.git/objects\n", ".git/shallow": "0" * 40 + "\n",
             "run.sh": "#!/bin/sh\n", "crlf.txt": "a\nb\n$Id$\n"}
    repository = Repository(box, {"name": "settings", "config": config, "files": files})
    (repository.work / "link").symlink_to("a.txt")
    with tools_of(box, repository) as call:
        answer = call("snapshot_create", name="s")
        assert answer["structuredContent"]["files"] == 5, answer
        assert answer["structuredContent"]["notes"] == [], answer
        for name in ("a.txt", "crlf.txt", "link", "run.sh"):
            (repository.work / name).unlink()
        listed = call("snapshot_restore", name="s")["structuredContent"]
        assert [file["path"] for file in listed["files"]] == ["a.txt", "crlf.txt", "link", "run.sh"], listed
    assert (repository.work / "crlf.txt").read_bytes() == b"a\nb\n$Id$\n"
    assert (repository.work / "link").readlink() == pathlib.Path("a.txt")
    assert (repository.work / "run.sh").stat().st_mode & 0o111 == 0o111
    assert (repository.other / "a.txt").read_text() == "one\n"


def test_a_read_only_server_lists_and_compares_only(box):
    repository = Repository(box, {"name": "plain"})
    with tools_of(box, repository) as call:
        text_of(call("snapshot_create", name="s", description="before\nthe change"))
    (repository.work / "a.txt").write_text("other\n")

    def state():
        return {str(path): path.lstat().st_mtime_ns for path in box.path.rglob("*")}
    before = state()
    command = [box.binary, "mcp", "--workspace", repository.work, "--tools=snapshots", "--readonly"]
    with Server(command, env=box.env(), cwd=box.path) as server:
        server.send(request(1, "tools/list"))
        names = [tool["name"] for tool in server.take()["result"]["tools"]]
        assert names == ["snapshot_diff", "snapshot_list"], names
        server.send(request(2, "tools/call", name="snapshot_diff", arguments={"name": "s"}))
        assert "-changed\n+other\n" in text_of(server.take()["result"])
        server.send(request(3, "tools/call", name="snapshot_list", arguments={}))
        assert text_of(server.take()["result"]).endswith("\tbefore\\nthe change\n")
    assert state() == before


def test_snapshots_survive_what_commands_do(box):
    with agent(box, "--tools=core,snapshots") as tools:
        tools.text("Bash", command="mkdir -p src && echo one > src/a && printf '#!/bin/sh\\n' > run && chmod +x run")
        created = tools.text("snapshot_create", name="s")
        assert created.startswith("snapshot s created: "), created
        tools.text("Bash", command="rm -rf src run; ln -s / src; echo new > other")
        assert tools.text("snapshot_restore", name="s") == \
            "restored snapshot s (4 file(s) changed):\nother\nrun\nsrc\nsrc/a\n"
        assert tools.text("Bash", command="cat src/a; ls; test -x run") == "one\nrun\nsrc\n"
        # The store is no part of the jail.
        assert tools.error("snapshot_create", name="s").startswith('snapshot "s" exists\n')


def test_the_snapshot_tools_are_offered(box):
    repository = Repository(box, {"name": "plain"})
    command = [box.binary, "mcp", "--workspace", repository.work, "--tools=snapshots"]
    with Server(command, env=box.env(), cwd=box.path) as server:
        server.send(request(1, "tools/list"))
        assert [tool["name"] for tool in server.take()["result"]["tools"]] == TOOLS
