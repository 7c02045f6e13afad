"""Every official client lists and calls the file tools of `polybox mcp` and of `polybox serve`, in a workspace of its own."""
import base64
import json

import mcp_test
import serving

FILE_TOOLS = ["Delete", "Edit", "Glob", "Grep", "List", "Move", "Read", "Write"]

# Name, arguments, text of the answer. An error begins with "E: ".
DAY = [
    ("Write", {"file_path": "src/app.py", "content": "a = 1\nb = 2\n"}, "wrote 12 bytes to src/app.py"),
    ("Read", {"file_path": "src/app.py"}, "1\ta = 1\n2\tb = 2\n"),
    ("Edit", {"file_path": "src/app.py", "edits": [{"old_string": "1", "new_string": "10"},
                                                   {"old_string": "b = 2", "new_string": "c = 3"}]},
     "replaced 2 occurrence(s) in src/app.py"),
    ("Edit", {"file_path": "given.txt", "old_string": "x", "new_string": "y"},
     "E: refusing to edit given.txt: Read it first"),
    ("Read", {"file_path": "given.txt"}, "1\tx\n"),
    ("Edit", {"file_path": "given.txt", "old_string": "x", "new_string": "y"}, "replaced 1 occurrence(s) in given.txt"),
    ("Grep", {"pattern": "c = 3", "before": 1}, "src/app.py-1-a = 10\nsrc/app.py:2:c = 3\n"),
    ("Glob", {"pattern": "*.py"}, "src/app.py"),
    ("Move", {"source": "src/app.py", "destination": "lib/app.py"}, "moved src/app.py to lib/app.py"),
    ("List", {"depth": 2}, "given.txt\t2\nlib/\nlib/app.py\t13\nsrc/\n"),
    ("Delete", {"path": "src"}, "E: path is a directory: src\nrecursive=true deletes it with its contents"),
    ("Delete", {"path": "src", "recursive": True}, "deleted src (0 files, 1 directories)"),
    ("Read", {"file_path": "../outside"}, "E: resolve path: path is outside workspace root"),
]

# Library and mode of each TypeScript client, and mode of each Python client.
TYPESCRIPT = [("sdk", "legacy"), ("client", "legacy"), ("client", "auto"), ("client", "2026-07-28")]
PYTHON = ["legacy", "auto", "2026-07-28"]


def text_of(answer):
    marks = {True: "E: ", False: ""}
    return marks[bool(answer.get("isError"))] + "".join(block["text"] for block in answer["content"])


def new_workspace(box, name):
    box.write("outside", "secret")
    return box.write(f"{name}/given.txt", "x\n").parent


def check_the_day(workspace, seen):
    names = [tool["name"] for tool in seen["tools"]]
    assert names == sorted(names) and set(FILE_TOOLS) <= set(names), names
    for (name, arguments, text), answer in zip(DAY, seen["answers"], strict=True):
        assert text_of(answer) == text, (name, arguments, answer)
        assert bool(answer.get("isError")) != ("structuredContent" in answer), answer
    left = {str(path.relative_to(workspace)): path.read_text() for path in workspace.rglob("*") if path.is_file()}
    assert left == {"given.txt": "y\n", "lib/app.py": "a = 10\nc = 3\n"}, left


def drive(box, kind, workspace, server):
    """Lets the client of `kind` spend its day with `server`: a command or an address."""
    library, mode = kind
    command = [*mcp_test.python_client(box), mode, *server] if library == "python" else \
        mcp_test.typescript_client(box, library, mode, *server)
    seen = mcp_test.run_client(box, command, [call[:2] for call in DAY])
    assert seen.get("errors", []) == [], seen["errors"]
    check_the_day(workspace, seen)


def over_stdio(box, kinds):
    for kind in kinds:
        workspace = new_workspace(box, "-".join(kind))
        drive(box, kind, workspace, [box.binary, "mcp", "--workspace", workspace])


def over_http(box, kinds):
    for kind in kinds:
        workspace = new_workspace(box, "-".join(kind))
        with serving.Server(["--workspace", str(workspace)]) as server:
            drive(box, kind, workspace, [f"http://127.0.0.1:{server.port}/mcp"])


def test_the_python_client_works_with_files_over_stdio(box):
    over_stdio(box, [("python", mode) for mode in PYTHON])


def test_the_typescript_clients_work_with_files_over_stdio(box):
    over_stdio(box, TYPESCRIPT)


def test_the_python_client_works_with_files_over_http(box):
    over_http(box, [("python", mode) for mode in PYTHON])


def test_the_typescript_clients_work_with_files_over_http(box):
    over_http(box, TYPESCRIPT)


PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


def test_pictures_and_notebooks_reach_clients_as_such(box):
    workspace = new_workspace(box, "pictures")
    (workspace / "a.png").write_bytes(PNG)
    cell = {"cell_type": "code", "source": "plot()", "outputs": [
        {"output_type": "display_data", "data": {"image/png": base64.b64encode(PNG).decode()}}]}
    (workspace / "a.ipynb").write_text(json.dumps({"cells": [cell], "nbformat": 4}))
    calls = [["Read", {"file_path": "a.png"}], ["Read", {"file_path": "a.ipynb"}]]
    server = [box.binary, "mcp", "--workspace", workspace]
    for command in ([*mcp_test.python_client(box), "auto", *server], mcp_test.typescript_client(box, "sdk", "legacy", *server)):
        picture, notebook = mcp_test.run_client(box, command, calls)["answers"]
        (block,) = picture["content"]
        assert (block["type"], block["mimeType"], base64.b64decode(block["data"])) == ("image", "image/png", PNG), block
        text, block = notebook["content"]
        assert "plot()" in text["text"] and base64.b64decode(block["data"]) == PNG, notebook


def inspect_a_day(box, workspace, server, calls):
    """Each call of the inspector is a client of its own, and over stdio a server of its own too."""
    listed = mcp_test.inspect(box, "--method", "tools/list", server=server)
    assert listed.returncode == 0, listed
    assert set(FILE_TOOLS) <= {tool["name"] for tool in json.loads(listed.stdout)["result"]["tools"]}, listed.stdout
    for name, arguments, text in calls:
        done = mcp_test.inspect(box, "--method", "tools/call", "--tool-name", name, "--tool-args-json",
                                json.dumps(arguments), server=server)
        assert done.returncode == (5 if text.startswith("E: ") else 0), done
        assert text_of(json.loads(done.stdout)["result"]) == text, done.stdout


def test_the_inspector_works_with_files_over_stdio(box):
    workspace = new_workspace(box, "inspector")
    calls = [call for call in DAY if call[0] != "Edit" and call[1].get("file_path") != "given.txt"]
    calls = [call for call in calls if call[0] in ("Write", "Read", "Glob", "Move")]
    inspect_a_day(box, workspace, ["--", box.binary, "mcp", "--workspace", workspace], calls)
    assert (workspace / "lib/app.py").read_text() == "a = 1\nb = 2\n"


def test_the_inspector_works_with_files_over_http(box):
    workspace = new_workspace(box, "inspector")
    with serving.Server(["--workspace", str(workspace)]) as server:
        url = f"http://127.0.0.1:{server.port}/mcp"
        inspect_a_day(box, workspace, ["--transport", "http", "--server-url", url], DAY)
    assert (workspace / "lib/app.py").read_text() == "a = 10\nc = 3\n"
