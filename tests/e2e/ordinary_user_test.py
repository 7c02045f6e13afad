"""An ordinary user starts `polybox mcp` without any help of root."""
import os
import subprocess

import serving as servers
from coding_agent import PATIENCE, Agent, directory, serving
from traces import await_true

USER = 54321
GRADES = ("rootless", "landlock", "none")


def as_user():
    """The command that makes what follows it run as an ordinary user."""
    return ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--"] if os.geteuid() == 0 else []


def user_of(box):
    """A home for that user, and a polybox that the user can execute. Returns the variables and the command."""
    box.path.chmod(0o755)
    home = box.path / "user"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = A User\n\temail = user@example.org\n")
    (home / ".ssh").mkdir(mode=0o700)
    (home / ".ssh" / "key").write_text("secret")
    (home / "credentials").write_text("machine registry.example login user password word\n")
    (home / "credentials").chmod(0o600)
    (home / ".npm" / "_cacache").mkdir(parents=True)
    (home / ".npm" / "_cacache" / "known").write_text("a package\n")
    if as_user():
        subprocess.run(["chown", "-R", f"{USER}:{USER}", home], check=True)
    box.binary = servers.copy_of(box.binary, box.path)
    # The toolchains of another user's home directory are not this user's.
    path = ":".join(part for part in os.environ["PATH"].split(":") if not part.startswith("/root/"))
    return {"HOME": str(home), "POLYBOX_CACHE_DIR": str(home / "cache"), "PATH": path, "TMPDIR": "/var/tmp",
            "NETRC": str(home / "credentials")}


def git(workspace, *words):
    subprocess.run([*as_user(), "git", *words], cwd=workspace, check=True, capture_output=True,
                   env={"PATH": "/usr/bin:/bin", "HOME": str(workspace)})


def work(bash, workspace, env, grade):
    """The ordinary tools and commands, in any grade."""
    text, data = bash.call("Bash", command="echo made > made && mkdir sub && pwd && id -un; cat ~/none")
    assert text.startswith(f"{workspace}\n") and data["exit_code"] == 1, text
    assert (grade == "rootless") == (data["notes"] == []), data["notes"]
    bash.text("Write", file_path=f"{workspace}/sub/word.txt", content="one\n")
    bash.text("Edit", file_path=f"{workspace}/sub/word.txt", old_string="one", new_string="two")
    assert bash.text("Bash", command="cat sub/word.txt; git add . && git commit -qm work && git status -s") == "two\n"
    assert bash.text("Bash", command="git log --format='%an <%ae>'") == "A User <user@example.org>\n"
    shell = bash.call("Bash", command="echo begun; read line; echo got $line", run_in_background=True,
                      stdin_open=True)[1]["shell_id"]
    bash.text("shell_input", shell_id=shell, text="it\n")
    await_true(lambda: "got it" in bash.text("BashOutput", shell_id=shell), "the command reads its input")
    bash.text("Bash", command="echo kept > ~/kept; echo shared > $TMPDIR/shared")
    assert bash.text("Bash", command="cat ~/kept $TMPDIR/shared") == "kept\nshared\n"
    if grade != "none":  # Which isolates nothing.
        assert "secret" not in bash.text("Bash", command=f"cat {env['HOME']}/.ssh/key; ls {env['HOME']}")
        bash.call("Bash", command=f"echo x > {env['HOME']}/new")
        assert not os.path.exists(f"{env['HOME']}/new"), "at most the jail's own /tmp has the file"


def work_in_namespaces(bash):
    """What commands share only where there are namespaces."""
    assert bash.text("Bash", command="cat $NETRC").startswith("machine registry.example "), "a file that is passed on"
    shell = bash.call("Bash", command="exec python3 -m http.server 3000 --bind 127.0.0.1", run_in_background=True)[1]["shell_id"]
    fetch = "curl -s --retry 60 --retry-connrefused --retry-delay 1 localhost:3000/made"
    text = bash.text("Bash", command=fetch)
    assert text == "made\n", (text, bash.text("BashOutput", shell_id=shell))
    assert bash.text("Bash", command="pkill -f 'http[.]server'") == ""
    assert bash.text("Bash", command="cd ~/.npm/_cacache && cat known && echo more > new && ls") == "a package\nknown\nnew\n"


def make_test(grade):
    def test(box):
        env = user_of(box)
        # Then variables of clients are passed on.
        flags = [f"--isolation={grade}", f"--min-isolation={grade}", "--workspace-egress=nothing.invalid"]
        with directory(USER) as workspace:
            git(workspace, "init", "-q", ".")
            with serving(box, workspace, *flags, prefix=as_user(), env=env) as server:
                bash = Agent(server)
                tried = bash.answer("Bash", command="true")
                if tried["isError"] and f"isolation {grade} is needed" in str(tried):
                    raise Skip(str(tried))  # noqa: F821 (run.py puts it here)
                work(bash, workspace, env, grade)
                if grade == "rootless":
                    work_in_namespaces(bash)
                assert server.end(PATIENCE)[0] == 0, server.errors
            owners = {str(path): path.lstat().st_uid for path in [workspace, *workspace.rglob("*")]}
            assert set(owners.values()) == {workspace.stat().st_uid}, owners
            assert not (box.path / "user/.npm/_cacache/new").exists(), "the user's cache is as before"
    return test


for _grade in GRADES:
    globals()[f"test_an_ordinary_user_works_in_{_grade}"] = make_test(_grade)
