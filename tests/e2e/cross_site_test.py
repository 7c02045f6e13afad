"""Attacks by web pages: requests that a page of another site has a browser send, or that reach the server under a name that
the page's owner made lead here (DNS rebinding). Every way is tried on every route, must be refused in the route's own words with
the setting that would allow it, and must have no effect. Each route is asked without the attack first: then it has its effect."""
import atexit
import json
import pathlib
import re
import threading

import serving
from event_stream import EventStream
from mcp_client import legacy
from serving import Server
from traces import await_true

OWN = "http://127.0.0.1:{port}"
# What a browser sends (Host, Origin, Sec-Fetch-Site) and the setting that the refusal names.
WAYS = {
    "a rebound name": ({"Host": "evil.example:{port}"}, "allowed-hosts"),
    "a rebound name with its own origin": ({"Host": "evil.example", "Origin": "http://evil.example"}, "allowed-hosts"),
    "a rebound name as one site": ({"Host": "evil.example", "Sec-Fetch-Site": "same-origin"}, "allowed-hosts"),
    "a name that begins like a loopback one": ({"Host": "localhost.evil.example"}, "allowed-hosts"),
    "a name that begins like a loopback address": ({"Host": "127.0.0.1.evil.example"}, "allowed-hosts"),
    "an address for any interface": ({"Host": "0.0.0.0:{port}"}, "allowed-hosts"),
    "no host": ({"Host": None}, "allowed-hosts"),
    "a page of another site": ({"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}, "allowed-origins"),
    "a page of an old browser": ({"Origin": "https://evil.example"}, "allowed-origins"),
    "a page without an origin": ({"Origin": "null"}, "allowed-origins"),
    "a file": ({"Origin": "file://"}, "allowed-origins"),
    "a page on another port": ({"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": "same-site"}, "allowed-origins"),
    "a page on the default port": ({"Origin": "http://127.0.0.1"}, "allowed-origins"),
    "a page of another scheme": ({"Origin": "https://127.0.0.1:{port}"}, "allowed-origins"),
    "a page under another loopback name": ({"Origin": "http://localhost:{port}"}, "allowed-origins"),
    "an image or a form of another site": ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
                                           "allowed-origins"),
    "a link on another site": ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, "allowed-origins"),
    "a site next door": ({"Sec-Fetch-Site": "same-site"}, "allowed-origins"),
    "a site of a kind that nobody knows": ({"Sec-Fetch-Site": "other"}, "allowed-origins"),
    "an own origin from another site": ({"Origin": OWN, "Sec-Fetch-Site": "cross-site"}, "allowed-origins"),
    "two origins": ({"Origin": OWN + ", https://evil.example"}, "allowed-origins"),
}

FORM = '--B\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\nx\r\n--B--\r\n'
EFFECT = {"method": "GET", "path": "/exists/{name}"}


def own_words(key):
    return lambda answer: answer.json()[key]


# method, path, body, content type, how the refusal is said, what shows that the request was carried out.
ROUTES = {
    "a command": ("POST", "/execute", '{{"command": "touch {name}"}}', "text/plain", own_words("error"), EFFECT),
    "a program": ("POST", "/execute", '{{"code": "echo ran"}}', "text/plain", own_words("error"), "ran"),
    "a run": ("POST", "/v1/run", '{{"runtime": "bash", "files": [{{"name": "main.sh", "content": "echo ran"}}]}}',
              "application/json", own_words("message"), '"cmFuCg=="'),
    "an upload": ("POST", "/upload", FORM, "multipart/form-data; boundary=B", own_words("message"), EFFECT),
    "a download": ("GET", "/download/kept", None, None, own_words("message"), "kept bytes"),
    "a list": ("GET", "/list/", None, None, own_words("message"), '"kept"'),
    "a question whether a file exists": ("GET", "/exists/kept", None, None, own_words("message"), "true"),
    "a call of a tool": ("POST", "/mcp", '{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {{"name": "Write", '
                         '"arguments": {{"file_path": "{name}", "content": "x"}}}}}}', "application/json",
                         lambda answer: answer.json()["error"]["message"], EFFECT),
    "the stream of a session": ("GET", "/mcp", None, None, lambda answer: answer.json()["error"]["message"], ": open"),
    "the end of a session": ("DELETE", "/mcp", None, None, lambda answer: answer.json()["error"]["message"],
                             lambda server, name: session_ended(server, name)),
    "a session of the first transport": ("GET", "/sse", None, None, lambda answer: answer.json()["error"]["message"],
                                         "event: endpoint"),
    "a message of the first transport": ("POST", "/message", '{{"jsonrpc": "2.0", "id": "{name}", "method": "tools/call", "params": '
                                         '{{"name": "Write", "arguments": {{"file_path": "{name}", "content": "x"}}}}}}', "text/plain",
                                         lambda answer: answer.json()["error"]["message"], EFFECT),
    "the state of the server": ("GET", "/health", None, None, own_words("error"), "runtime_version"),
    "the languages": ("GET", "/languages", None, None, own_words("error"), '"available"'),
    "the metrics": ("GET", "/metrics", None, None, own_words("message"), "polybox_"),
    "the workspaces": ("GET", "/workspaces", None, None, own_words("error"), '"commands"'),
    "a file of the page": ("GET", "/console/main.js", None, None, lambda answer: answer.text, "import"),
    "the document": ("GET", "/openapi.json", None, None, own_words("error"), "openapi"),
}

# Probes whose answer is one word: every page may send them.
OPEN_TO_PAGES = {("GET", "/"), ("HEAD", "/"), ("GET", "/healthz"), ("GET", "/readyz"), ("HEAD", "/readyz")}


# In HTTP/1.0, which no browser speaks.
NO_HOST_NEEDED = {("no host", "/health"), ("no host", "/console/kept")}


# Routes whose answer has no end.
STREAMS = {"the stream of a session", "a session of the first transport"}
# The session of an attack, by its name.
SESSIONS = {}


class Shared:
    """One server for all of these tests."""

    def __init__(self):
        self.lock, self.server, self.stream = threading.Lock(), None, None

    def get(self):
        with self.lock:
            if not self.server:
                self.server = Server(["--mode", "shell", "--warm-slots", "1", "--workspace", "{tmp}/base"])
                (pathlib.Path(self.server.folder.name) / "base" / "kept").write_text("kept bytes")
            return self.server


    def message_path(self):
        """Where a session of the first transport takes messages. Its stream stays open until the end of all tests."""
        server = self.get()
        with self.lock:
            if not self.stream:
                self.stream = EventStream(server.port, "GET", "/sse")
                atexit.register(self.stream.close)
                self.path = self.stream.take()["data"]
            return self.path


SHARED = Shared()


def session_ended(server, name):
    fields = {"Mcp-Session-Id": SESSIONS[name], "MCP-Protocol-Version": "2025-11-25"}
    return server.ask({"path": "/mcp", "json": legacy(1, "tools/list"), "headers": fields}).status == 404


def begin_session(server, name):
    """The header of a new session, which the page is supposed to know."""
    hello = legacy(1, "initialize", protocolVersion="2025-11-25", capabilities={})
    SESSIONS[name] = server.ask({"path": "/mcp", "json": hello}).headers["Mcp-Session-Id"]
    return {"Mcp-Session-Id": SESSIONS[name], "Accept": "text/event-stream"}


def answer_of_stream(server, method, path, headers):
    """The beginning of an answer without an end."""
    with EventStream(server.port, method, path, headers) as stream:
        await_true(lambda: stream.raw or stream.status != 200, "the stream says nothing")
        return serving.Answer(stream.status, stream.headers, stream.raw, 0)


def send(server, route, name, fields):
    method, path, body, content_type, *_ = ROUTES[route]
    headers = {"Content-Type": content_type} if content_type else {}
    if path == "/mcp" and method != "POST":
        headers |= begin_session(server, name)
    if path == "/message":
        path = SHARED.message_path()
    headers |= {key: value.replace("{port}", str(server.port)) for key, value in fields.items() if value is not None}
    if route in STREAMS and not fields:
        return answer_of_stream(server, method, path, headers)
    if fields.get("Host", "") is None:
        return send_without_host(server, method, path, headers, body.format(name=name) if body else "")
    request = {"method": method, "path": path, "headers": headers}
    if body:
        request["body"] = body.format(name=name)
    return server.ask(request)


def send_without_host(server, method, path, headers, body):
    """In HTTP/1.0, where a request needs none."""
    connection = server.connection()
    connection._http_vsn, connection._http_vsn_str = 10, "HTTP/1.0"
    connection.putrequest(method, path, skip_host=True)
    for key, value in (headers | {"Content-Length": str(len(body))}).items():
        connection.putheader(key, value)
    connection.endheaders(body.encode())
    response = connection.getresponse()
    answer = serving.Answer(response.status, dict(response.getheaders()), response.read(), 0)
    connection.close()
    return answer


def has_effect(server, route, name, answer):
    shows = ROUTES[route][-1]
    if isinstance(shows, str):
        return shows in answer.text
    if callable(shows):
        return shows(server, name)
    return server.ask({"method": shows["method"], "path": shows["path"].format(name=name)}).json()["exists"]


def attack(route, way):
    fields, setting = WAYS[way]
    server, name = SHARED.get(), re.sub(r"\W+", "-", f"{route} {way}")
    answer = send(server, route, name + "-own", {})
    assert answer.status in (200, 202, 204), f"the route does not work: {answer}"
    # A message of the first transport takes effect after its answer.
    await_true(lambda: has_effect(server, route, name + "-own", answer), f"the route has no effect: {answer}")
    answer = send(server, route, name, fields)
    if way == "no host" and route in ("the state of the server", "a file of the page"):
        # A probe in HTTP/1.0, which no browser speaks. The files are the same on every server.
        assert answer.status == 200, answer
        return
    assert answer.status == 403, answer
    assert setting in ROUTES[route][4](answer), answer
    assert not [key for key in answer.headers if key.lower().startswith("access-control")], answer
    assert not has_effect(server, route, name, answer), f"it was carried out: {answer}"


def add_tests():
    for route in ROUTES:
        for way in WAYS:
            def test(box, route=route, way=way):
                attack(route, way)
            globals()["test_" + re.sub(r"\W+", "_", f"{way} gets nothing from {route}")] = test


def documented(server):
    """(method, path) of every operation of the server's OpenAPI document, with a name for {path}."""
    paths = json.loads(server.document)["paths"]
    return [(method.upper(), path.replace("{path}", "kept"))
            for path, item in paths.items() for method in item if method != "parameters"]


def test_every_documented_operation_refuses_every_way(box):
    server = SHARED.get()
    for method, path in documented(server):
        for way, (fields, setting) in WAYS.items():
            if (method, path) in OPEN_TO_PAGES or (way, path) in NO_HOST_NEEDED:
                continue
            headers = {key: value.replace("{port}", str(server.port)) for key, value in fields.items() if value}
            if way == "no host":
                answer = send_without_host(server, method, path, headers, "")
            else:
                answer = server.ask({"method": method, "path": path, "headers": headers})
            assert answer.status == 403, (method, path, way, answer)
            assert method == "HEAD" or setting in answer.text, (method, path, way, answer)


def test_every_documented_operation_has_an_attack_that_looks_for_its_effect(box):
    known = {(method, path) for method, path, *_ in ROUTES.values()}
    for method, path in documented(SHARED.get()):
        below = path.removesuffix("kept")
        is_known = (method, path) in known or (method, below) in known or \
            (below != path and any(each.startswith(below) for verb, each in known if verb == method))
        assert is_known or method in ("HEAD", "OPTIONS") or (method, path) in OPEN_TO_PAGES, \
            f"{method} {path} is not in ROUTES"


def test_probes_that_say_one_word_answer_every_page(box):
    server = SHARED.get()
    for path in ("/", "/healthz", "/readyz"):
        for fields, _ in WAYS.values():
            headers = {key: value for key, value in fields.items() if value is not None}
            assert server.ask({"method": "GET", "path": path, "headers": headers}).status == 200, (path, fields)
        assert send_without_host(server, "GET", path, {}, "").status == 200, path


def test_the_users_own_requests_are_served(box):
    server = SHARED.get()
    for headers in ({"Host": "localhost"}, {"Host": f"box.localhost:{server.port}"}, {"Host": "127.1.2.3:5"},
                    {"Host": "[::1]:80"}, {"Sec-Fetch-Site": "none"}, {"Sec-Fetch-Site": "same-origin"},
                    {"Origin": OWN.replace("{port}", str(server.port)), "Sec-Fetch-Site": "same-origin"}):
        answer = server.ask({"path": "/execute", "headers": headers, "body": '{"code": "echo ran"}'})
        assert answer.status == 200 and answer.json()["stdout"] == "ran\n", (headers, answer)


def test_a_plain_curl_as_the_readme_shows_it_is_served(box):
    """`curl -d` names the content type of a form, which a page of another site may send as well: it is not refused for that."""
    form = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "*/*", "User-Agent": "curl/7.88.1"}
    answer = SHARED.get().ask({"path": "/execute", "headers": form, "body": '{"code": "echo ran"}'})
    assert answer.status == 200 and answer.json()["stdout"] == "ran\n", answer


def test_listed_hosts_and_origins_are_served_and_get_cors_answers(box):
    page = "https://app.example.org"
    with Server(["--mode", "shell", "--allowed-hosts", "box.example.org", "--allowed-hosts", "*.intern:8080",
                 "--allowed-origins", page]) as server:
        request = {"path": "/execute", "body": '{"code": "echo ran"}'}
        for host, status in (("box.example.org", 200), ("box.example.org:1", 200), ("a.intern:8080", 200),
                             ("a.intern", 403), ("intern:8080", 403), ("localhost", 200)):
            assert server.ask(request | {"headers": {"Host": host}}).status == status, host
        answer = server.ask(request | {"headers": {"Origin": page, "Sec-Fetch-Site": "cross-site"}})
        assert (answer.status, answer.headers["Access-Control-Allow-Origin"], answer.headers["Vary"]) == \
            (200, page, "Origin"), answer
        preflight = {"method": "OPTIONS", "path": "/execute", "headers": {
            "Origin": page, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}}
        answer = server.ask(preflight)
        assert answer.status == 204 and answer.headers["Access-Control-Allow-Methods"] == "POST", answer
        preflight["headers"]["Origin"] = "https://evil.example"
        answer = server.ask(preflight)
        assert answer.status == 403 and "Access-Control-Allow-Origin" not in answer.headers, answer


def test_an_address_of_the_network_checks_the_host_only_when_hosts_are_listed(box):
    request = {"path": "/execute", "headers": {"Host": "anything"}, "body": '{"code": "echo ran"}'}
    for more, status in (([], 200), (["--allowed-hosts", "box"], 403)):
        with Server(["--mode", "shell", "--insecure", *more], address="0.0.0.0") as server:
            assert server.ask(request).status == status, more
            foreign = request | {"headers": {"Host": "localhost", "Origin": "https://evil.example"}}
            assert server.ask(foreign).status == 403, more


def test_an_entry_that_is_no_host_or_origin_is_refused_with_the_form(box):
    for flag, value, form in (("--allowed-hosts", "*", "expected box.example.org"),
                              ("--allowed-hosts", "http://box", "expected box.example.org"),
                              ("--allowed-origins", "null", "expected SCHEME://HOST"),
                              ("--allowed-origins", "https://a.example/", "expected SCHEME://HOST")):
        done = box.run("serve", flag, value)
        assert done.returncode == 2 and form in done.stderr, done


if serving.has_serve():
    add_tests()


def test_every_answer_is_kept_from_pages_of_other_sites(box):
    page = "https://app.example.org"
    with Server(["--mode", "shell", "--allowed-origins", page]) as server:
        (pathlib.Path(server.folder.name) / "base" / "page.html").write_text("<script>1</script>")
        requests = [*({"method": "GET", "path": path} for path in ("/download/page.html", "/list/", "/nowhere", "/health", "/")),
                    {"path": "/execute", "body": '{"code": "echo ran"}'}, {"method": "PUT", "path": "/execute"},
                    {"path": "/execute", "body": "{", "headers": {"Origin": "https://evil.example"}}]
        for request in requests:
            answer = server.ask(request)
            assert answer.headers["X-Content-Type-Options"] == "nosniff", (request, answer)
            assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin", (request, answer)
        answer = server.ask({"method": "GET", "path": "/download/page.html", "headers": {"Origin": page}})
        assert (answer.status, answer.headers["Cross-Origin-Resource-Policy"]) == (200, "cross-origin"), answer
