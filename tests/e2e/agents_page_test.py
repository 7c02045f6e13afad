"""What docs/agents.md tells people to write works: each command is started, each address is asked, as the page has it. Only what
stands for something of the reader is replaced: the directory of the project, the token, and the port."""
import json
import pathlib
import re
import subprocess
import tomllib

import serving
from mcp_client import Server, legacy, request

PROJECT = "/home/you/project"
CLIENTS = ["Claude Code", "Claude Desktop", "Cursor", "VS Code", "Zed", "Codex"]
# Claude Desktop reaches no server of this machine over HTTP.
WITH_HTTP = [client for client in CLIENTS if client != "Claude Desktop"]
TOKEN = "0123456789abcdef"
# How the clients name the variable or the question in which the token is.
TOKEN_NAMES = re.compile(r"\$\{env:MY_POLYBOX_TOKEN\}|\$\{input:polybox-token\}|\$?MY_POLYBOX_TOKEN")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def sections(box):
    """The text below each heading."""
    text = (box.root / "docs/agents.md").read_text()
    return dict(part.split("\n", 1) for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:])


def servers_in(language, text):
    """The entries about polybox in a settings file of a client."""
    if language == "toml":
        return tomllib.loads(text)["mcp_servers"]["polybox"]
    document = json.loads(text)
    (key,) = document.keys() & {"mcpServers", "servers", "context_servers"}
    return document[key]["polybox"]


def snippets(box, client):
    """What the page says for a client: entries of settings files, and commands of a shell."""
    entries, commands = [], []
    for language, text in FENCE.findall(sections(box)[client]):
        if language == "sh":
            commands += text.strip().splitlines()
        else:
            entries.append(servers_in(language, text))
    return entries, commands


def place(box, text):
    return text.replace("${workspaceFolder}", str(box.path / "project")).replace(PROJECT, str(box.path / "project"))


def reader(box):
    """The environment of a reader: polybox is on the PATH, and the project exists."""
    box.write("project/hello.txt", "hello\n")
    folder = box.path / "bin"
    folder.mkdir(exist_ok=True)
    if not (folder / "polybox").exists():
        (folder / "polybox").symlink_to(box.binary.resolve())
    env = box.env()
    return env | {"PATH": f"{folder}:{env['PATH']}"}


def check_command(box, command):
    with Server(command, env=reader(box), cwd=box.path / "project") as server:
        assert server.initialize("2025-11-25")["serverInfo"]["name"] == "polybox", command
        tools = server.ask(legacy(1, "tools/list"))["result"]["tools"]
        assert {"Read", "Edit"} <= {tool["name"] for tool in tools}, tools
        answer = server.ask(legacy(2, "tools/call", name="Read", arguments={"file_path": "hello.txt"}))
        assert answer["result"]["content"][0]["text"] == "1\thello\n", answer
        assert server.end() == (0, []), server.errors


def test_every_stdio_snippet_of_the_page_of_agents_starts_and_lists_tools(box):
    env = reader(box)
    for client in CLIENTS:
        entries, commands = snippets(box, client)
        found = 0
        for entry in entries:
            if "command" not in entry:
                continue
            found += 1
            # A whole path stands for the place where the reader has put polybox.
            program = entry["command"]
            assert program == "polybox" or (program[0] == "/" and pathlib.Path(program).name == "polybox"), program
            check_command(box, ["polybox" if program == "polybox" else box.binary, *(place(box, arg) for arg in entry["args"])])
        for command in commands:
            words = subprocess.run(["bash", "-c", f"printf '%s\\0' {command}"], cwd=box.path / "project", env=env,
                                   capture_output=True, text=True, check=True).stdout.split("\0")[:-1]
            if "--" in words:
                found += 1
                assert words[1:3] == ["mcp", "add"] and words[words.index("--") - 1] == "polybox", command
                check_command(box, words[words.index("--") + 1:])
        assert found > 0, f"no stdio snippet for {client}"


def http_snippets(box, client):
    """(address, token that the client would send) of each snippet."""
    entries, commands = snippets(box, client)
    for entry in entries:
        if "url" in entry:
            fields = entry.get("headers", {})
            if "bearer_token_env_var" in entry:
                fields = {"Authorization": f"Bearer {entry['bearer_token_env_var']}"}
            yield entry["url"], fields
    for command in commands:
        if " --transport http " in command:
            address, field = re.fullmatch(r'claude mcp add --transport http polybox (\S+) --header "(.*)"', command).groups()
            yield address, dict([field.split(": ", 1)])


def test_every_http_snippet_of_the_page_of_agents_lists_tools(box):
    reader(box)
    box.write("tokens", TOKEN + "\n")
    starts = [line for language, text in FENCE.findall(sections(box)["Two ways"]) for line in text.splitlines()
              if line.startswith("polybox serve ")]
    assert len(starts) == 2, starts
    plain, guarded = [[place(box, word).replace("/home/you/.config/polybox", str(box.path)) for word in line.split()[2:]]
                      for line in starts]
    for arguments, with_token in ((plain, False), (guarded, True)):
        with serving.Server(arguments) as server:
            for client in WITH_HTTP:
                found = list(http_snippets(box, client))
                assert found, f"no HTTP snippet for {client}"
                for address, fields in found:
                    assert address == "http://127.0.0.1:8080/mcp", address
                    fields = {name: TOKEN_NAMES.sub(TOKEN, value) for name, value in fields.items()}
                    check_address(server, address.removeprefix("http://127.0.0.1:8080"), fields, with_token)


def check_address(server, path, fields, with_token):
    assert fields == {"Authorization": f"Bearer {TOKEN}"}, fields
    modern = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"}
    ask = {"path": path, "json": request(1, "tools/list"), "headers": modern | fields}
    listed = server.ask(ask)
    assert listed.status == 200 and "Read" in [tool["name"] for tool in listed.json()["result"]["tools"]], listed
    refused = server.ask(ask | {"headers": modern})
    assert refused.status == (401 if with_token else 200), refused


def test_the_command_that_makes_a_token_makes_one_that_polybox_accepts(box):
    (text,) = [text for _, text in FENCE.findall(sections(box)["Two ways"]) if "umask" in text]
    script = "\n".join(line for line in text.splitlines() if not line.startswith("polybox"))
    subprocess.run(["bash", "-ec", script.replace("/home/you", str(box.path))], check=True, timeout=20)
    tokens = box.path / ".config/polybox/tokens"
    assert tokens.stat().st_mode & 0o777 == 0o600, oct(tokens.stat().st_mode)
    with serving.Server(["--workspace", str(box.path), "--token-file", str(tokens)]) as server:
        check_address_with(server, tokens.read_text().strip())


def check_address_with(server, token):
    fields = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list", "Authorization": f"Bearer {token}"}
    assert server.ask({"path": "/mcp", "json": request(1, "tools/list"), "headers": fields}).status == 200


def test_the_minute_of_an_agent_in_the_readme_is_what_happens(box):
    readme = (box.root / "README.md").read_text()
    (minute,) = [text for language, text in FENCE.findall(readme) if language == "text" and text.startswith("> ")]
    # Beside the cache directory: commands may not write that.
    project = box.write("project/app.py", 'print("helo")\n').parent
    with Server([box.binary, "mcp", "--workspace", project], env=box.env(), cwd=project) as server:
        for number, step in enumerate(re.split(r"^> ", minute, flags=re.MULTILINE)[1:]):
            call, told = step.split("\n", 1)
            name, arguments = call.split(" ", 1)
            answer = server.call(number, name, **json.loads(arguments))["result"]
            assert answer["content"][0]["text"].rstrip("\n") == told.rstrip("\n"), (call, answer)
    assert (project / "app.py").read_text() == 'print("hello")\n'


def test_every_message_in_the_page_of_agents_is_one_that_polybox_says(box):
    """The table of troubles quotes them."""
    sources = "\n".join(file.read_text() for folder in ("src", "cmd") for file in (box.root / folder).rglob("*.cc"))
    for message in ("workspace root must be absolute", "path is outside workspace root", "Read it first",
                    "it has changed since it was read", "a token is required", "allowed-hosts", "allowed-origins"):
        assert message in sections(box)["When something does not work"], message
        assert message in sources, message
