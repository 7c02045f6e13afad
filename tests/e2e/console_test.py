"""The page for people: who gets it at GET /, what it is made of, and GET /workspaces. What it does in a browser is in
tests/browser."""
import re

import serving
from mcp_http_test import modern
from mcp_client import request
from coding_agent import directory
from traces import await_true

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
ACTIVE = {"status": "ok", "message": "Sandbox Runtime is active."}
TYPES = {"html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
         "svg": "image/svg+xml"}
# A page that loads at once on a slow line, and that one can read in an hour.
MOST_BYTES = 72 * 1024
TOKENS = ["a-token-of-the-tests", "another-token-of-the-tests"]


def get(server, path, method="GET", **fields):
    headers = {name.replace("_", "-"): value for name, value in fields.items()}
    return server.ask({"method": method, "path": path, "headers": headers})


def test_json_clients_still_get_json_at_the_root(box):
    with serving.Server(["--mode", "shell"]) as server:
        for accept in (None, "*/*", "application/json", "application/json, text/plain, */*", "text/html, */*",
                       "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", "nonsense"):
            fields = {"Accept": accept} if accept else {}
            answer = get(server, "/", **fields)
            assert (answer.status, answer.headers["Content-Type"], answer.json()) == (200, "application/json", ACTIVE), answer
            assert answer.headers["Vary"] == "Accept", answer
            head = get(server, "/", "HEAD", **fields)
            assert (head.status, head.body, head.headers["Content-Type"]) == (200, b"", "application/json"), head


def test_a_browser_gets_the_page_whatever_page_has_the_link(box):
    with serving.Server(["--mode", "shell"]) as server:
        ways = ({}, {"Sec_Fetch_Site": "none"}, {"Sec_Fetch_Site": "same-origin"},
                {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"})
        for fields in ways:
            page = get(server, "/", Accept=BROWSER, **fields)
            assert (page.status, page.headers["Content-Type"]) == (200, TYPES["html"]), page
            assert page.headers["Vary"] == "Accept" and page.text.startswith("<!DOCTYPE html>"), page
            head = get(server, "/", "HEAD", Accept=BROWSER, **fields)
            assert head.body == b"" and head.headers["Content-Length"] == str(len(page.body)), head


def files_of(server):
    """The page and every file that it or one of its scripts names: {path: answer}."""
    found, names = {"/": get(server, "/", Accept=BROWSER)}, ["/"]
    for path in names:
        text = found[path].text
        named = re.findall(r'(?:href|src)="(console/[^"]+)"', text) + \
            [f"console/{name}" for name in re.findall(r'^import [^\n]*? from "\./([^"]+)";$', text, re.M)]
        for name in named:
            if f"/{name}" not in found:
                found[f"/{name}"] = get(server, f"/{name}")
                names.append(f"/{name}")
    return found


def test_every_file_of_the_page_is_served_as_it_must_be(box):
    with serving.Server(["--mode", "shell"]) as server:
        files = files_of(server)
        sources = {f"/console/{file.name}" for file in (box.root / "console").iterdir()} - {"/console/index.html"}
        assert set(files) - {"/"} == sources, "a file of console/ that the page does not use, or one that is not there"
        assert sum(len(answer.body) for answer in files.values()) < MOST_BYTES
        for path, answer in files.items():
            ending = "html" if path == "/" else path.rpartition(".")[2]
            assert (answer.status, answer.headers["Content-Type"]) == (200, TYPES[ending]), (path, answer)
            for name, value in (("Cache-Control", "no-cache"), ("X-Content-Type-Options", "nosniff"),
                                ("X-Frame-Options", "DENY"), ("Referrer-Policy", "no-referrer"),
                                ("Cross-Origin-Opener-Policy", "same-origin"),
                                ("Cross-Origin-Resource-Policy", "same-origin")):
                assert answer.headers[name] == value, (path, name, answer)
            policy = answer.headers["Content-Security-Policy"]
            assert policy.startswith("default-src 'none'; ") and "frame-ancestors 'none'" in policy, policy
            assert "unsafe" not in policy and "http" not in policy, policy
            tag = answer.headers["ETag"]
            same = get(server, path, Accept=BROWSER, If_None_Match=tag)
            assert (same.status, same.body, same.headers["ETag"]) == (304, b"", tag), (path, same)


def test_the_page_refers_to_no_other_host_and_makes_no_markup_of_text(box):
    for file in (box.root / "console").iterdir():
        text = file.read_text()
        # The name of a namespace is no address that anybody asks.
        hosts = re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\s\"']*", text.replace("http://www.w3.org/2000/svg", ""))
        assert not hosts, (file.name, hosts)
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "localStorage",
                     "document.cookie", "@import", "url("):
            assert word not in text, (file.name, word)


def test_the_page_and_its_files_need_no_token_and_workspaces_do(box):
    file = box.write("tokens", TOKENS[0] + "\n")
    with serving.Server(["--mode", "shell", "--token-file", str(file)]) as server:
        assert all(answer.status == 200 for answer in files_of(server).values())
        assert get(server, "/workspaces").status == 401
        assert get(server, "/workspaces", Authorization=f"Bearer {TOKENS[0]}").json() == {"workspaces": []}


def call(server, token, tool, **arguments):
    answer = modern(server, request(1, "tools/call", name=tool, arguments=arguments), Mcp_Name=tool,
                    Authorization=f"Bearer {token}").json()["result"]
    assert not answer.get("isError"), answer
    return answer["structuredContent"]


def test_workspaces_list_the_commands_of_the_token_and_of_no_other(box):
    file = box.write("tokens", "\n".join(TOKENS) + "\n")
    with directory() as folder, \
            serving.Server(["--mode", "shell", "--workspace", str(folder), "--token-file", str(file)]) as server:
        def listed(token):
            [workspace] = get(server, "/workspaces", Authorization=f"Bearer {token}").json()["workspaces"]
            assert workspace["path"] == str(folder) and not workspace["readonly"], workspace
            return workspace["commands"]

        assert listed(TOKENS[0]) == []
        first = call(server, TOKENS[0], "Bash", command="echo 12345; exec sleep 600", run_in_background=True)["shell_id"]
        second = call(server, TOKENS[0], "Bash", command="exit 3", run_in_background=True)["shell_id"]
        await_true(lambda: not listed(TOKENS[0])[0]["running"], "the second command does not end")
        await_true(lambda: listed(TOKENS[0])[1]["output_bytes"] == 6, "the first command prints nothing")
        last, oldest = listed(TOKENS[0])
        assert (last["shell_id"], last["status"]) == (second, "completed (exit 3)"), last
        assert (oldest["shell_id"], oldest["status"], oldest["running"]) == (first, "running", True), oldest
        assert oldest["command"] == "echo 12345; exec sleep 600", oldest
        assert listed(TOKENS[1]) == []
        call(server, TOKENS[0], "KillShell", shell_id=first)
        assert not listed(TOKENS[0])[1]["running"]
