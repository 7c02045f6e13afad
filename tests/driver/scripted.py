"""A language that is Python but for its installer: what that does is a test's own choice."""
import json

TEXT = """id = "scripted"
name = "Scripted"
extensions = [".scripted"]
[toolchain]
binaries = ["python3"]
version = ["{executable}", "--version"]
roots_command = ["{executable}", "-I", "-c", "import sys; print(sys.prefix); print(sys.base_prefix)"]
[packages]
installer = "script"
binaries = [BINARY]
install = [COMMAND, "{target}", "{requirements}"]
requirement_form = "pep508"
[packages.env]
PYTHONPATH = "{packages}"
[entry]
file = "main.py"
[run]
command = ["{executable}", "{entry}"]
[run.limits]
address_space = "4GiB"
open_files = 64
processes = 32
[image]
apt = ["python3"]
"""


def language(*command):
    """The language file with this installer; its last two arguments are the directory and the requirements."""
    words = [json.dumps(word) for word in command]  # a string of JSON is one of TOML too
    return TEXT.replace("BINARY", words[0]).replace("COMMAND", ", ".join(words))
