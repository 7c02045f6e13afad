"""The conformance suite of MCP against `polybox serve --conformance-fixtures`: everything that a server must do in 2026-07-28 and
2025-11-25, and the extension for tasks. No failure and no warning is expected."""
import collections
import json
import subprocess

import mcp_test
import serving

SUITE = "@modelcontextprotocol/conformance"
# Scenarios that the suite runs but does not count, and of which polybox does not offer what they are about.
NOT_OFFERED = {
    "http-custom-header-server-validation": "no tool of polybox copies an argument into a header field",
    "server-sse-polling": "an answer's stream ends with the answer, so there is nothing to resume",
}


def run_suite(box, revision):
    """The checks of each scenario, by its name."""
    node = mcp_test.node(box)
    program = box.root / "build/node/node_modules" / SUITE / "dist/index.js"
    results = box.path / "results"
    with serving.Server(["--workspace", str(box.path), "--mode", "shell", "--conformance-fixtures"]) as server:
        done = subprocess.run(
            [node, program, "server", "--url", f"http://127.0.0.1:{server.port}/mcp", "--requirements", revision,
             "--output-dir", results], capture_output=True, text=True, timeout=300, cwd=box.path, env=box.env())
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    checks = collections.defaultdict(list)
    for file in sorted(results.rglob("checks.json")):
        # The folder is named after the scenario and the time: server-ping-2026-11-20T00-00-00-000Z.
        name = file.parent.name.removeprefix("server-").rsplit("-", 6)[0]
        checks[name] += json.loads(file.read_text())
    return dict(checks)


def complaints(checks):
    """What each scenario had to say that is neither a success nor only information."""
    return {f"{name}: {check['id']}": check.get("errorMessage") for name, found in checks.items() if name not in NOT_OFFERED
            for check in found if check["status"] in ("FAILURE", "WARNING")}


def scenarios_of(box, revision):
    text = (box.root / "build/node/node_modules" / SUITE / "requirements" / f"{revision}.yaml").read_text()
    server = text[text.index("\nserver:"):text.index("\nclient:")]
    return {line.strip().removeprefix("- ") for line in server.splitlines() if line.strip().startswith("- ")}


def check_revision(box, revision):
    checks = run_suite(box, revision)
    assert complaints(checks) == {}, complaints(checks)
    wanted = scenarios_of(box, revision)
    assert len(wanted) >= 30 and wanted <= checks.keys(), wanted - checks.keys()
    return checks


def test_the_suite_has_no_complaint_about_2026_07_28(box):
    checks = check_revision(box, "2026-07-28")
    tasks = {name for name in checks if name.startswith("tasks-")}
    assert len(tasks) == 10, tasks
    successes = [check for name in tasks for check in checks[name] if check["status"] == "SUCCESS"]
    assert len(successes) > 25, len(successes)


def test_the_suite_has_no_complaint_about_2025_11_25(box):
    check_revision(box, "2025-11-25")


def test_the_fixtures_are_offered_only_on_demand(box):
    with serving.Server(["--workspace", str(box.path), "--mode", "shell"]) as server:
        headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"}
        listed = server.ask({"path": "/mcp", "json": mcp_test.request(1, "tools/list"), "headers": headers})
        names = {tool["name"] for tool in listed.json()["result"]["tools"]}
        assert "Bash" in names and not any(name.startswith("test_") for name in names), names
    shown = box.run("serve", "--help")
    assert shown.returncode == 0 and "conformance" not in shown.stdout, shown.stdout
