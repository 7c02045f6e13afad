"""tools/check-scripts must refuse a script with a mistake, and must not pass over a tool that is missing."""
import os
import pathlib
import shutil
import subprocess

CHECK = pathlib.Path(__file__).resolve().parent.parent.parent / "tools" / "check-scripts"
GOOD = "#!/bin/sh\necho \"$1\"\n"

# The scripts of a tree, and what the check says.
CASES = {
    "good": ({"languages/x/a.sh": GOOD, "tools/b": GOOD}, ""),
    "a program that does not parse": ({"languages/x/a.py": "def f(:\n"}, "languages/x/a.py is refused"),
    "a script that does not parse": ({"languages/x/a.sh": "if\n"}, "languages/x/a.sh is refused"),
    "a word that splits": ({"tools/b": "#!/bin/sh\nrm $1\n"}, "tools/b is refused"),
    "bash in a script of sh": ({"languages/x/a.sh": "[[ $1 == x ]]\n"}, "languages/x/a.sh is refused"),
    "an empty tree": ({}, "0 files checked"),
}


def check(root, files, path=os.environ["PATH"]):
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True)
        file.write_text(text)
        file.chmod(0o755)
    return subprocess.run([CHECK, root], env={"PATH": path}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=60)


def test_a_script_with_a_mistake_is_refused(box):
    if shutil.which("shellcheck") is None:
        return "there is no shellcheck here"
    for name, (files, wanted) in CASES.items():
        root = box.path / name.replace(" ", "-")
        root.mkdir()
        done = check(root, files)
        assert wanted in done.stdout, (name, done.stdout)
        assert (done.returncode == 0) == (wanted == ""), (name, done.stdout)
    return None


def test_a_missing_tool_is_a_failure(box):
    tools = box.path / "bin"
    tools.mkdir()
    for name in ("bash", "env", "dirname", "find"):
        (tools / name).symlink_to(shutil.which(name))
    root = box.path / "tree"
    for name, text in {"a.js": "", "b.sh": GOOD}.items():
        done = check(root / name, {f"languages/x/{name}": text}, str(tools))
        assert done.returncode != 0 and "is missing" in done.stdout, done.stdout
