"""The OpenAPI document and the server agree: the document is valid, its examples are, every answer that the tests of
http_test.py got is as documented, and schemathesis finds no way to get another one."""
import base64
import json
import os
import pathlib
import subprocess

import http_test
import serving

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = HERE.parent.parent / "build" / "python" / "bin"
# Not among them is that wrong data is refused: the contracts read leniently.
CHECKS = ("not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
          "response_schema_conformance,unsupported_method,allow_header_conformance")
TOKEN = "a-token-of-the-tests"


def tool(name):
    if not (PYTHON / name).exists():
        raise Skip(f"{name} is not installed: tools/setup python-tools")  # noqa: F821 (run.py puts it here)
    return str(PYTHON / name)


def check(box, answers):
    """Checks answers, (server, method, path, answer), and the documents of their servers."""
    servers = list({id(server): server for server, *_ in answers}.values())
    given = {"documents": [json.loads(server.document) for server in servers], "answers": []}
    for server, method, path, answer in answers:
        given["answers"].append({"document": servers.index(server), "method": method, "path": path,
                                 "status": answer.status, "headers": answer.headers,
                                 "body": base64.b64encode(answer.body).decode()})
    file = box.write("answers.json", json.dumps(given))
    done = subprocess.run([tool("python"), str(HERE / "openapi" / "check.py"), str(file)], capture_output=True,
                          text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def operations(document):
    for path, item in document["paths"].items():
        for method in item.keys() - {"parameters"}:
            yield method.upper(), path, item[method]


def test_the_document_is_valid_and_so_are_its_examples_and_what_they_are_answered(box):
    server = serving.Server()
    try:
        answers = [(server, "GET", "/openapi.json", server.ask({"method": "GET", "path": "/openapi.json"}))]
        for method, path, operation in operations(json.loads(server.document)):
            bodies = operation.get("requestBody", {}).get("content", {}).get("application/json", {"examples": {}})
            requests = [{"method": method, "path": path.replace("{path}", "a.txt")}]
            for example in bodies["examples"].values():
                requests = [{"method": method, "path": path, "json": example["value"], "headers": {"Accept": accept}}
                            for accept in ("*/*", "text/event-stream")]
                asked = [server.ask(request) for request in requests]
                assert all(answer.status == 200 for answer in asked), asked
                answers += [(server, method, path, answer) for answer in asked]
            if not bodies["examples"]:
                answers += [(server, method, request["path"], server.ask(request)) for request in requests]
        check(box, answers)
    finally:
        server.stop()


def test_a_server_with_tokens_documents_what_needs_one(box):
    box.write("tokens", TOKEN + "\n")
    server = serving.Server(["--token-file", str(box.path / "tokens")])
    try:
        trusted = {"Authorization": f"Bearer {TOKEN}"}
        server.document = server.ask({"method": "GET", "path": "/openapi.json", "headers": trusted}).body
        document, answers = json.loads(server.document), []
        assert document["security"] == [{"bearer": []}, {"header": []}], document["security"]
        for method, path, operation in operations(document):
            request = {"method": method, "path": path.replace("{path}", "x")}
            answer = server.ask(request)
            is_open = operation.get("security") == []
            assert (answer.status == 401) != is_open, f"{method} {path}: {answer}"
            answers.append((server, method, path, answer))
            for header in (trusted, {"X-Polybox-Token": TOKEN}):
                answer = server.ask(request | {"headers": header})
                assert answer.status != 401, f"{method} {path}: {answer}"
                answers.append((server, method, path, answer))
        check(box, answers)
    finally:
        server.stop()


def test_the_document_is_that_of_the_server_as_it_was_started(box):
    server = serving.Server(["--mode", "shell", "--metrics=false", "--max-files", "3"],
                              path=http_test.path_with(box, "bash"))
    try:
        document = json.loads(server.document)
        assert document["security"] == [], document["security"]
        assert "/metrics" not in document["paths"], document["paths"].keys()
        assert server.ask({"method": "GET", "path": "/metrics"}).status == 404
        request = document["components"]["schemas"]["RunRequest"]["properties"]
        assert request["files"]["maxItems"] == 3, request
        assert request["runtime"]["enum"] == server.health["languages"] == ["bash"], request
        assert "`shell`" in document["paths"]["/execute"]["post"]["description"]
    finally:
        server.stop()


def test_the_page_of_the_documentation_is_fresh(box):
    printed = box.run("docs", "openapi")
    assert printed.returncode == 0, printed.stderr
    page = json.loads((box.root / "docs" / "openapi.json").read_text())
    assert json.loads(printed.stdout) == page, "docs/openapi.json is stale: make docs"


def test_every_answer_of_the_http_tests_is_as_documented(box):
    answers = [entry for entry in serving.ANSWERS if getattr(entry[0], "document", b"").startswith(b"{\"openapi\"")]
    if not answers:
        raise Skip("no test of http_test.py was run")  # noqa: F821
    check(box, answers)


# The last of all: those whose answers it looks at must have run.
test_every_answer_of_the_http_tests_is_as_documented.alone = True


def test_schemathesis_finds_no_violation_of_the_document(box):
    """Requests made from the document, the same ones every time: right ones, wrong ones, and edges."""
    # One language, quick to start, for which no packages are fetched.
    server = serving.Server(["--mode", "shell"], path=http_test.path_with(box, "bash", "sh", "cat"))
    try:
        (pathlib.Path(server.folder.name) / "base" / "data").mkdir()
        (pathlib.Path(server.folder.name) / "base" / "data" / "a.txt").write_text("the example of the document")
        # One worker: Python 3.11's own parser fails now and then when two threads use it at once.
        done = subprocess.run(
            [tool("schemathesis"), "run", f"http://127.0.0.1:{server.port}/openapi.json",
             "--generation-deterministic", "--max-examples", "30", "--phases", "examples,coverage,fuzzing",
             "--workers", "1", "--request-timeout", "60", "--suppress-health-check", "all", "--checks", CHECKS],
            env={"PATH": os.environ["PATH"], "HOME": str(box.path)}, cwd=box.path, capture_output=True, text=True,
            timeout=300)
        assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    finally:
        server.stop()


test_schemathesis_finds_no_violation_of_the_document.alone = True
