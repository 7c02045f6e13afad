"""The operator's secrets over `polybox mcp`: who gets a value, and that nobody else does."""
import base64
import contextlib
import json
import os
import pathlib
import shutil
import tempfile
import urllib.parse

from coding_agent import ORDINARY, Agent
from mcp_client import Server, legacy, request

# Values of this test alone. One has characters that each encoding writes in another way.
OF_VARIABLE = "v4r/iable+\"S3cret\"&~4711"
OF_FILE = "F1le-s3cret-of-the-test_4712"
VARIABLES = {"CODEGEN_SANDBOX_SECRET_DB_PASS": OF_VARIABLE, "CODEGEN_SANDBOX_SECRET_PIN": "1234567"}


@contextlib.contextmanager
def agent(box, *flags):
    """An agent whose server has secrets from the environment and from a directory."""
    secrets = box.path / "secrets"
    secrets.mkdir()
    (secrets / "API_Token.v2").write_text(OF_FILE + "\n")
    workspace = pathlib.Path(tempfile.mkdtemp(dir="/var/tmp", prefix="polybox-e2e-"))
    workspace.chmod(0o777)
    if os.geteuid() == 0:
        os.chown(workspace, ORDINARY, ORDINARY)
    try:
        command = [box.binary, "mcp", "--workspace", workspace, "--secrets-dir", secrets, *flags]
        with Server(command, env=box.env(VARIABLES), cwd=box.path) as server:
            caller = Agent(server)
            caller.workspace = workspace
            yield caller
            code, _ = server.end()
            assert code == 0, server.errors
    finally:
        shutil.rmtree(workspace, ignore_errors=True)


def secret(caller, name):
    """The answer of the tool: its text and its data, or the text of its error."""
    caller.last += 1
    caller.server.send(request(caller.last, "tools/call", name="secret", arguments={"name": name}))
    result = caller.server.take(timeout=100)["result"]
    text = result["content"][0]["text"]
    return text if result["isError"] else (text, result["structuredContent"])


def put(caller, name, text):
    """Writes a file of the workspace that belongs to its owner."""
    (caller.workspace / name).write_text(text)
    if os.geteuid() == 0:
        os.chown(caller.workspace / name, ORDINARY, ORDINARY)


def encoded(value):
    """How programs write the value, in ways that an agent could decode."""
    data = value.encode()
    forms = [value, data.hex(), data.hex().upper(), data.hex(" "), urllib.parse.quote(value), urllib.parse.quote_plus(value),
             urllib.parse.quote(value, safe=""), json.dumps(value)[1:-1], json.dumps(json.dumps(value))[3:-3]]
    for before in (b"", b"x", b"xy"):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            forms += [encode(before + data).decode(), encode(before + data + b"\n").decode()]
    # base64 and xxd -p break long lines
    forms += [base64.encodebytes(data * 4).decode(), "\n".join(data.hex()[i:i + 20] for i in range(0, len(data.hex()), 20))]
    return forms


def shows(text, value):
    """Whether the text has the value, or eight characters of it, in a form that it is decoded from."""
    parts = {value[i:i + 8] for i in range(len(value) - 7)}
    decoded = [text, urllib.parse.unquote_plus(text), text.replace('\\"', '"')]
    compact = "".join(text.split())
    with contextlib.suppress(ValueError):
        decoded.append(bytes.fromhex(compact).decode("latin-1"))
    for skipped in range(4):
        rest = compact[skipped:]
        rest = rest[:len(rest) - len(rest) % 4]
        with contextlib.suppress(ValueError):
            decoded.append(base64.b64decode(rest.replace("-", "+").replace("_", "/"), validate=True).decode("latin-1"))
    return any(part in each for part in parts for each in decoded)


def test_an_agent_gets_the_secrets_by_name_and_each_access_is_logged(box):
    with agent(box) as caller:
        text, data = caller.call("secrets_available")
        assert data["names"] == ["API_Token.v2", "db_pass", "pin"] and text == "API_Token.v2\ndb_pass\npin", (text, data)
        assert secret(caller, "API_Token.v2") == (OF_FILE, {"name": "API_Token.v2", "value": OF_FILE})
        assert secret(caller, "db_pass")[0] == OF_VARIABLE
        assert secret(caller, "nothing") == "unknown secret: nothing (available: API_Token.v2, db_pass, pin)"
        assert secret(caller, "../x") == "invalid secret name: ../x"
        assert secret(caller, "") == "name is required"
        server = caller.server
    lines = [json.loads(line) for line in server.errors.splitlines()]
    accesses = [line for line in lines if line["message"] == "an agent has read a secret"]
    assert [(line["secret"], line["bytes"], line["source"], line["principal"]) for line in accesses] == [
        ("API_Token.v2", len(OF_FILE), "file", "stdio"), ("db_pass", len(OF_VARIABLE), "env", "stdio")], accesses
    assert any("too short" in line["message"] and line["secret"] == "pin" for line in lines), lines
    for value in (OF_FILE, OF_VARIABLE):
        assert value not in server.errors.decode(), "the log shows a value"


def test_the_environment_of_the_server_does_not_show_them(box):
    with agent(box) as caller:
        caller.text("secrets_available")
        shown = pathlib.Path(f"/proc/{caller.server.process.pid}/environ").read_bytes()
        assert b"HOME=" in shown and b"CODEGEN_SANDBOX" not in shown and b"4711" not in shown, shown


def test_no_command_finds_a_value(box):
    """In its environment, in /proc, in files, and in what a crash leaves."""
    look = r"""
env; cat /proc/*/environ 2>/dev/null | tr '\0' '\n'; cat /proc/*/cmdline 2>/dev/null | tr '\0' '\n'
ulimit -c unlimited 2>/dev/null; (sh -c 'kill -SEGV $$'); ls -a; cat core* 2>/dev/null
for fd in /proc/*/fd/*; do head -c 100 "$fd" < /dev/null 2>/dev/null; done
ls -l SECRETS 2>&1; cat SECRETS/* 2>&1; grep -rl --binary-files=text -e s3cret-of-the -e S3cret . /tmp /run /etc /var/tmp 2>/dev/null
echo done
"""
    with agent(box) as caller:
        # The scrubber must not hide what a command has seen, so its output goes to a file that the test reads itself.
        script = look.replace("SECRETS", str(box.path / "secrets"))
        (caller.workspace / "look.sh").write_text(script)
        caller.call("Bash", command="bash look.sh > seen.txt 2>&1", timeout=100)
        seen = (caller.workspace / "seen.txt").read_text(errors="replace")
        assert seen.endswith("done\n"), seen[-500:]
        for part in ("4711", "4712", "s3cret-of", "S3cret", "CODEGEN_SANDBOX"):
            assert part not in seen.replace(script, ""), (part, seen)
        left = [file for file in caller.workspace.rglob("*") if file.is_file() and file.name != "look.sh"]
        assert [file.name for file in left] == ["seen.txt"], left


def test_planted_values_are_removed_in_every_encoding(box):
    with agent(box) as caller:
        for value, name in ((OF_VARIABLE, "db_pass"), (OF_FILE, "API_Token.v2")):
            for form in encoded(value):
                (caller.workspace / "planted.txt").write_text(f"before\n{form}\nafter\n")
                for tool, arguments in (("Read", {"file_path": "planted.txt"}),
                                        ("Bash", {"command": "cat planted.txt; cat planted.txt >&2"})):
                    text, data = caller.call(tool, **arguments)
                    assert f"[REDACTED:{name}]" in text, (tool, form, text)
                    assert "before" in text and "after" in text, text
                    for shown in (text, *[each for each in data.values() if isinstance(each, str)]):
                        assert not any(shows(line, value) for line in [shown, *shown.splitlines()]), (tool, form, shown)


def test_errors_names_and_progress_are_scrubbed_too(box):
    with agent(box) as caller:
        failed = caller.error("Read", file_path=f"no/{OF_FILE}.txt")
        assert "[REDACTED:API_Token.v2]" in failed and OF_FILE not in failed, failed
        (caller.workspace / OF_FILE).write_text("x\n")
        text, data = caller.call("Glob", pattern="*")
        assert OF_FILE not in text and OF_FILE not in json.dumps(data), (text, data)
        # The report of progress has the last line of the output, which may be cut inside of a value.
        half = len(OF_FILE) // 2
        command = f"printf %s '{OF_FILE[:half]}'; sleep 7; echo '{OF_FILE[half:]}'"
        caller.server.send(request(900, "tools/call", meta={"progressToken": 1}, name="Bash", arguments={"command": command}))
        messages = []
        while "id" not in (message := caller.server.take(timeout=100)):
            messages.append(message["params"].get("message", ""))
        assert messages and OF_FILE[:half] not in json.dumps(messages), messages
        assert OF_FILE not in json.dumps(message), message


def read(caller, uri):
    """The contents of a document."""
    caller.last += 1
    caller.server.send(request(caller.last, "resources/read", uri=uri))
    return caller.server.take(timeout=100)["result"]["contents"][0]


def test_documents_are_scrubbed_too(box):
    with agent(box) as caller:
        put(caller, "planted.txt", f"before {OF_FILE} after\n")
        (caller.workspace / "planted.bin").write_bytes(b"\0\xff" + OF_FILE.encode().hex().encode() + b"\0")
        text = read(caller, f"file://{caller.workspace}/planted.txt")["text"]
        assert text == "before [REDACTED:API_Token.v2] after\n", text
        shown = base64.b64decode(read(caller, f"file://{caller.workspace}/planted.bin")["blob"])
        assert len(shown) == 3 + 2 * len(OF_FILE) and shown.startswith(b"\0\xff") and OF_FILE[:8].encode().hex().encode() not in shown, shown
        _, data = caller.call("Bash", command=f"cat planted.txt; echo '{OF_FILE}' >&2", run_in_background=True)
        while caller.call("BashOutput", shell_id=data["shell_id"], wait=30)[1]["status"] == "running":
            pass
        caller.last += 1
        listed = caller.server.ask(request(caller.last, "resources/list"))["result"]
        assert listed["resources"] and OF_FILE not in json.dumps(listed), listed
        text = read(caller, f"output:///{data['shell_id']}/stdout")["text"]
        assert text == "before [REDACTED:API_Token.v2] after\n", text


def test_the_result_of_a_task_is_scrubbed_too(box):
    with agent(box) as caller:
        put(caller, "planted.txt", f"before {OF_FILE} after\n")
        caller.server.initialize("2025-11-25")
        created = caller.server.ask(legacy(1, "tools/call", name="Bash", task={"ttl": 600000}, arguments={"command": "cat planted.txt"}))
        caller.server.send(legacy(2, "tasks/result", taskId=created["result"]["task"]["taskId"]))
        result = caller.server.take(timeout=100)["result"]
        assert result["content"][0]["text"] == "before [REDACTED:API_Token.v2] after\n", result
        assert OF_FILE not in json.dumps(result), result


def test_the_output_of_a_program_outside_of_the_workspace_is_scrubbed_too(box):
    with agent(box, "--tools=core,execute") as caller:
        text, data = caller.call("execute_code", language="bash", code=f"echo 'a {OF_FILE} b'; env")
        assert "a [REDACTED:API_Token.v2] b\n" in text and OF_FILE not in text + json.dumps(data), (text, data)
        assert "CODEGEN_SANDBOX" not in text, text


def test_a_value_that_two_answers_divide_is_not_shown(box):
    with agent(box) as caller:
        half = len(OF_FILE) // 2
        command = f"printf %s '{OF_FILE[:half]}'; read -r line; echo '{OF_FILE[half:]}'"
        shell = caller.call("Bash", command=command, run_in_background=True, stdin_open=True)[1]["shell_id"]
        first, data = caller.call("BashOutput", shell_id=shell, wait=30)
        caller.call("shell_input", shell_id=shell, text="\n")
        second, _ = caller.call("BashOutput", shell_id=shell, since=data["cursor"], wait=30)
        parts = {OF_FILE[i:i + 8] for i in range(len(OF_FILE) - 7)}
        for answer in (first.split("\n\n", 1)[1], second.split("\n\n", 1)[1]):
            assert not any(part in answer for part in parts), answer


def test_source_code_is_not_changed(box):
    lines = ['token = strings.TrimSpace(x)', 'if token == nil {', 'const SECRET = process.env.X',
             'class="sk-loading-spinner-container"', 'password = getpass()']
    with agent(box) as caller:
        put(caller, "source.txt", "\n".join(lines) + "\n")
        text = caller.text("Read", file_path="source.txt")
        assert all(line in text for line in lines) and "REDACTED" not in text, text
        caller.call("Edit", file_path="source.txt", old_string=lines[0], new_string="token = x")


def test_tokens_and_patterns_of_the_operator_are_removed(box):
    plain = "OPENAI_API_KEY=sk-proj-Ab3dEf6hIj9kLm2nOp5qRs8t\nGITHUB_TOKEN=ghp_16C7e42F292c6912E7710c838347Ae178B4a\nbadge B-123456\n"
    with agent(box, "--scrub-patterns", "badge=B-[0-9]{6}") as caller:
        (caller.workspace / ".env").write_text(plain)
        text = caller.text("Bash", command="cat .env")
        assert text == ("OPENAI_API_KEY=[REDACTED:openai-api-key]\nGITHUB_TOKEN=[REDACTED:github-token]\n"
                        "badge [REDACTED:badge]\n"), text


def test_only_known_secrets_are_removed_if_the_operator_wants_that(box):
    with agent(box, "--scrub=known") as caller:
        (caller.workspace / "a.txt").write_text(f"ghp_16C7e42F292c6912E7710c838347Ae178B4a {OF_FILE}\n")
        text = caller.text("Read", file_path="a.txt")
        assert text == "1\tghp_16C7e42F292c6912E7710c838347Ae178B4a [REDACTED:API_Token.v2]\n", text


def test_without_secrets_the_tools_are_not_offered(box):
    def tools(*flags):
        with Server([box.binary, "mcp", "--workspace", box.path, *flags], env=box.env(), cwd=box.path) as server:
            listed = server.ask(request(1, "tools/list"))["result"]["tools"]
            assert server.end() == (0, [])
            return {tool["name"] for tool in listed}
    (box.path.parent / f"{box.path.name}-secrets").mkdir()
    secrets = box.path.parent / f"{box.path.name}-secrets"
    try:
        assert tools() & {"secret", "secrets_available"} == set()
        assert tools("--secrets-dir", secrets) >= {"secret", "secrets_available"}
        # They need not be given to an agent that only reviews.
        assert tools("--secrets-dir", secrets, "--readonly") & {"secret", "secrets_available"} == set()
    finally:
        secrets.rmdir()


def test_secrets_that_commands_could_read_are_refused(box):
    (box.path / "work/secrets").mkdir(parents=True)
    rows = [
        (box.path / "work/secrets", "which commands of agents can read"),
        (box.path, "is in it"),
        ("/usr/share", "which commands of agents can read"),
        (box.path / "nothing", "No such file or directory"),
    ]
    for directory, complaint in rows:
        done = box.run("mcp", "--workspace", box.path / "work", "--secrets-dir", directory)
        assert done.returncode in (1, 2) and complaint in done.stderr, done
    done = box.run("mcp", "--workspace", box.path / "work", "--scrub-patterns", "a=(")
    assert done.returncode == 2 and "scrub-patterns" in done.stderr, done
