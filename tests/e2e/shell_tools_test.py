"""The shell tools over `polybox mcp`, with real commands in the jail of a workspace."""
import contextlib
import os
import pathlib
import tempfile
import time

import world
from coding_agent import ORDINARY, PATIENCE, Agent, agent, serving
from mcp_client import request
from traces import await_true

MARK = f"{os.getpid()}"


def processes_with(mark):
    """The processes of the host whose command line has the mark."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                if mark.encode() in (entry / "cmdline").read_bytes():
                    found.append(entry.name)
    return found


def test_the_words_of_a_command_that_ended(box):
    rows = [
        ("true", ""),
        ("echo out; echo err >&2; printf end", "out\nerr\nend\n"),
        ("exit 3", "exit: 3\n"),
        ("echo a; exit 124", "a\nexit: 124\n"),
        ("kill -SEGV $$", "bash: killed by SIGSEGV\nexit: 139\n"),
        ("cat; echo end", "end\n"),
        ("printf 'a\\0b\\n'", "a\\0b\n"),
        ("head -c 5000 /dev/urandom", "(5000 bytes of binary data, not shown)\n"),
        ("printf '\\033[1mbold\\033[0m\\r\\n'", "bold\n"),
        ("pwd -P > /dev/null; cd / && pwd", "/\n"),
    ]
    with agent(box) as bash:
        for command, text in rows:
            assert bash.text("Bash", command=command, description="a test") == text, command
        assert bash.text("Bash", command="cat", stdin="in\n") == "in\n"
        assert bash.error("Bash", command="") == "command is required"
        assert bash.error("Bash", command="true", cwd="none").startswith("cwd: stat: ")
        assert bash.error("Bash", command="true", cwd="..") == "cwd: resolve path: path is outside workspace root"
        assert bash.error("BashOutput", shell_id="x") == "unknown shell_id: x"
        assert bash.error("KillShell", shell_id="") == "shell_id is required"


def test_no_command_is_refused_for_its_words(box):
    with agent(box) as bash:
        assert bash.text("Bash", command="echo halt; x=sudo; echo $x mount; printf 'mount\\n' | grep -n mount") == (
            "halt\nsudo mount\n1:mount\n")


def test_variables_of_the_server_do_not_reach_commands(box):
    with agent(box, prefix=["env", f"SECRET_TOKEN={MARK}", f"NPM_TOKEN={MARK}"]) as bash:
        names = {line.split("=")[0] for line in bash.text("Bash", command="env").splitlines()}
        assert names & {"PATH", "HOME"} and not {"SECRET_TOKEN", "NPM_TOKEN"} & names, names
        assert bash.text("Bash", command="env > all; wc -c < all; cat /proc/[0-9]*/environ | tr '\\0' '\\n' | "
                                         "grep -c SECRET_TOKEN").endswith("\n0\nexit: 1\n")


def test_a_workspace_in_the_home_directory_and_in_tmp_shows_nothing_else_of_them(box):
    secret = box.write("home/.secret", "secret")
    workspace = box.path / "home" / "project"
    workspace.mkdir()
    for folder in (box.path, box.path / "home"):
        folder.chmod(0o755)
    if os.geteuid() == 0:
        os.chown(workspace, ORDINARY, ORDINARY)
    assert str(workspace).startswith(tempfile.gettempdir())
    with serving(box, workspace) as server:
        bash = Agent(server)
        text = bash.text("Bash", command=f"echo x > made; pwd; ls -A {box.path}/home; cat {secret}; ls /tmp | wc -l")
        assert text.startswith(f"{workspace}\nproject\n") and text.endswith("\n1\n") and "secret\n1" not in text, text
        assert server.end()[0] == 0, server.errors
    assert (workspace / "made").stat().st_uid == workspace.stat().st_uid


def test_orphans_are_reaped(box):
    zombies = "cat /proc/[0-9]*/stat 2> /dev/null | grep -c ') Z '"
    with agent(box) as bash:
        bash.text("Bash", command="for i in $(seq 200); do (true & true); done")
        await_true(lambda: bash.text("Bash", command=zombies) == "0\nexit: 1\n", "no zombie is left")


def test_a_timeout_kills_the_whole_tree(box):
    sleep = f"51.{MARK}"
    with agent(box) as bash:
        text, data = bash.call("Bash", command=f"echo a; setsid sleep {sleep} & sleep {sleep}", timeout=3)
        assert text.startswith("a\n") and text.endswith("bash: timed out after 3s\nexit: 124\n"), text
        assert data["exit_code"] == 124 and data["timed_out"], data
        assert [(v["kind"], v["source"]) for v in data["violations"]] == [("time", "observed")], data
        await_true(lambda: not processes_with(sleep), "the tree ended")


def test_a_long_command_goes_on_behind_a_handle(box):
    with agent(box) as bash:
        # Five seconds: on a busy machine the jail and the first line may need more than one.
        text, data = bash.call("Bash", command="echo a; read x; echo got $x; exit 5", soft_timeout=5,
                               stdin_open=True)
        shell = data["shell_id"]
        assert data["status"] == "running" and "exit_code" not in data, data
        assert text.startswith(f"a\nshell_id: {shell}\nstill running after "), text
        assert bash.text("shell_input", shell_id=shell, text="word\n") == f"sent 5 bytes to {shell}\n"
        cursor = bash.call("BashOutput", shell_id=shell, wait=20, since="2")[1]["cursor"]
        assert int(cursor) > 2, cursor

        def ended():
            return bash.call("BashOutput", shell_id=shell)[1].get("exit_code") == 5
        await_true(ended, "the command ended")
        text = bash.text("BashOutput", shell_id=shell)
        assert "status: completed (exit 5)\n" in text and "--- output (11 bytes) ---\na\ngot word\n" in text, text
        assert bash.error("shell_input", shell_id=shell, text="x") == f"shell_id {shell} has ended"


def test_a_child_of_a_foreground_command_goes_on_and_has_a_handle(box):
    sleep = f"52.{MARK}"
    with agent(box) as bash:
        begin = time.monotonic()
        text, data = bash.call("Bash", command=f"setsid sleep {sleep} & echo started")
        assert time.monotonic() - begin < 20, "the child's pipes do not delay the answer"
        assert text.startswith(f"started\nshell_id: {data['shell_id']}\n") and data["children_running"], text
        await_true(lambda: processes_with(sleep), "the child runs")
        assert bash.text("KillShell", shell_id=data["shell_id"]) == f"killed: {data['shell_id']}\n"
        assert not processes_with(sleep)
        assert bash.text("KillShell", shell_id=data["shell_id"]) == f"killed: {data['shell_id']}\n"


def test_a_server_in_the_background_is_reached_and_killed_by_the_next_commands(box):
    with agent(box) as bash:
        text, data = bash.call("Bash", command="exec python3 -m http.server 3000 --bind 127.0.0.1",
                               run_in_background=True)
        assert text == (f"shell_id: {data['shell_id']}\n"
                        "started in background: exec python3 -m http.server 3000 --bind 127.0.0.1\n"), text
        fetch = "curl -s -o /dev/null -w '%{http_code}' --retry 60 --retry-connrefused --retry-delay 1 localhost:3000"
        assert bash.text("Bash", command=fetch) == "200\n"
        assert bash.text("Bash", command="pkill -f 'http[.]server'") == ""

        def status():
            return bash.call("BashOutput", shell_id=data["shell_id"])[1]["status"]
        await_true(lambda: status() == "completed (exit 143), killed by SIGTERM", "the server ended")
        text = bash.text("BashOutput", shell_id=data["shell_id"])
        assert "--- stdout (" in text and "--- stderr (" in text and "GET / HTTP" in text, text


def test_a_huge_output_is_cut_counted_and_readable(box):
    with agent(box) as bash:
        text, data = bash.call("Bash", command="echo first; head -c 100000000 /dev/zero | tr '\\0' x; echo; echo last",
                               timeout=300, soft_timeout=300)
        shell = data["shell_id"]
        assert data["output_bytes"] == 100000012 and data["exit_code"] == 0, data
        assert text.startswith("first\nxxx") and f"last\n(output_query with shell_id {shell} reads the rest)\n" in text
        assert len(text) < 33000 and f"{data['left_out_bytes']} bytes elided" in text, len(text)
        lines = bash.call("output_query", shell_id=shell, first_line=3)[1]
        assert [(line["line"], line["text"]) for line in lines["lines"]] == [(3, "last")], lines
        assert any("are lost" in note for note in lines["notes"]), lines["notes"]
        assert bash.text("output_query", shell_id=shell, pattern="^la").startswith("3:last\n")
        tail = bash.call("output_query", shell_id=shell, from_byte=100000005)[1]
        assert tail["content"] == "x\nlast\n" and tail["next_byte"] == 100000012, tail


def test_stored_output_is_read_by_lines_by_a_pattern_and_on(box):
    with agent(box) as bash:
        shell = bash.call("Bash", command="seq 1 100000; echo end >&2", run_in_background=True)[1]["shell_id"]
        await_true(lambda: "completed" in bash.text("BashOutput", shell_id=shell), "the command ended")
        rows = [
            ({"first_line": 500, "last_line": 502}, "500\t500\n501\t501\n502\t502\n"),
            ({"first_line": -2}, "99999\t99999\n100000\t100000\n"),
            ({"pattern": "^9999$", "context": 1}, "9998-9998\n9999:9999\n10000-10000\n"),
            ({"stream": "stderr"}, "1\tend\n"),
        ]
        for arguments, text in rows:
            assert bash.text("output_query", shell_id=shell, **arguments) == text, arguments
        short, data = bash.call("output_query", shell_id=shell, budget_tokens=100)
        assert short.endswith(f"({data['left_out_lines']} more lines left out; first_line={data['next_line']} reads on)\n")
        assert len(data["lines"]) + data["left_out_lines"] == 100000
        assert bash.error("output_query", shell_id=shell, stream="x") == "stream must be stdout or stderr for this shell_id"
        assert bash.error("output_query", shell_id=shell, pattern="(").startswith("regex: missing )")


def test_a_terminal_takes_input_and_ctrl_c(box):
    with agent(box) as bash:
        shell = bash.call("Bash", command="[ -t 1 ] && stty size; read x; echo got $x; sleep 1000", terminal=True,
                          run_in_background=True)[1]["shell_id"]
        bash.text("shell_input", shell_id=shell, text="abc\n")
        await_true(lambda: "got abc" in bash.text("BashOutput", shell_id=shell), "the line arrived")
        assert "24 80\n" in bash.text("BashOutput", shell_id=shell)
        bash.text("shell_input", shell_id=shell, text="\x03")
        await_true(lambda: "killed by SIGINT" in bash.text("BashOutput", shell_id=shell), "Ctrl-C arrived")


def test_a_terminal_is_resized_and_its_programs_are_told(box):
    with agent(box) as bash:
        shell = bash.call("Bash", command="trap 'echo told: $(stty size)' WINCH; echo ready; while :; do read x; done",
                          terminal=True, run_in_background=True)[1]["shell_id"]

        def says(text):
            return lambda: text in bash.text("BashOutput", shell_id=shell)
        await_true(says("ready"), "the command runs")
        assert bash.text("shell_input", shell_id=shell, rows=50, columns=132, text="\n") == f"sent 1 bytes to {shell}\n"
        await_true(says("told: 50 132"), "the command got the signal and the size")
        assert bash.error("shell_input", shell_id=shell, rows=50) == "rows and columns must be given together"
        assert "rows" in str(bash.server.call(1, "shell_input", shell_id=shell, rows=0, columns=80)), "0 is no size"
        piped = bash.call("Bash", command="cat", run_in_background=True, stdin_open=True)[1]["shell_id"]
        assert bash.error("shell_input", shell_id=piped, rows=50, columns=132) == f"shell_id {piped} has no terminal"


def test_a_watched_process_reports_its_errors_and_its_end(box):
    command = "echo 'panic: boom' >&2; head -c 2000000 /dev/zero >&2; echo >&2; echo 'Error: two' >&2; exit 1"
    with agent(box) as bash:
        text, data = bash.call("watch_process", command=command, description="a test")
        shell = data["shell_id"]
        assert text == (
            f"shell_id: {shell}\nstarted in background: {command}\n"
            "error_patterns: ^Error: | ^Fatal: | ^panic: | \\buncaught\\b | UnhandledPromiseRejection\n"
            "idle_timeout: (disabled)\n\nPoll watch_process_events with this shell_id for structured events. "
            "KillShell terminates the process group.\n"), text
        await_true(lambda: "exited  exit=1" in bash.text("watch_process_events", shell_id=shell), "the command ended")
        events = bash.call("watch_process_events", shell_id=shell)[1]["events"]
        assert [(e["kind"], e.get("matched"), e.get("text")) for e in events] == [
            ("started", None, None), ("error", "^panic:", "panic: boom"), ("error", "^Error:", "Error: two"),
            ("exited", None, "exit=1")], events
        text = bash.text("watch_process_events", shell_id=shell, since_event_id=3)
        assert "--- events (1) ---\n[4] " in text, text
        other = bash.call("Bash", command="true", run_in_background=True)[1]["shell_id"]
        assert bash.error("watch_process_events", shell_id=other) == (
            f"shell_id {other} was not started by watch_process; use BashOutput instead")
        assert bash.error("watch_process", command="true", error_patterns=["a", ""]) == "error_patterns[1] is empty"


def refused_hosts(data):
    """The subjects of the refused connections, each with what would allow it."""
    kinds = {(violation["kind"], violation["source"]) for violation in data["violations"]}
    assert kinds <= {("connection", "observed")}, data
    return [(violation["subject"], violation["fix"]) for violation in data["violations"]]


def test_a_refused_host_is_named_with_what_would_allow_it(box):
    with agent(box) as bash:
        text, data = bash.call("Bash", command="curl -sS https://nothing.invalid")
        fix = "restart polybox with --workspace-egress nothing.invalid"
        assert refused_hosts(data) == [("nothing.invalid:443", fix)], data
        what = "nothing.invalid:443 may not be reached: it is not on the list of the setting workspace-egress"
        assert what in text and fix in text, text
        assert bash.call("Bash", command="true")[1]["violations"] == [], "a refusal is told once"


def test_commands_reach_the_listed_hosts_and_no_others(box):
    if missing := world.why_not():
        raise Skip(missing)  # noqa: F821 (run.py puts it here)
    fetch = "curl -sS --proxytunnel http://{}:443/"
    with agent(box, "--workspace-egress", "allowed.example", prefix=world.prefix(box.path)) as bash:
        text, data = bash.call("Bash", command=fetch.format("allowed.example"))
        assert text == "secret of allowed\n" and data["violations"] == [], (text, data)
        # Past the proxy, no network has the host's address.
        direct = bash.text("Bash", command="curl -sS --noproxy '*' http://203.0.113.10:443/")
        assert "secret" not in direct and "exit: " in direct, direct
        for host in ("other.example", "203.0.113.10"):
            text, data = bash.call("Bash", command=fetch.format(host))
            assert "secret" not in text and f"{host}:443 may not be reached" in text, text
            assert refused_hosts(data) == [(f"{host}:443", f"restart polybox with --workspace-egress {host}")], data
        assert (box.path / "reached").read_text() == "allowed\n", "only the listed host was reached"
        assert set((box.path / "asked").read_text().split()) == {"allowed.example"}, "no other name was looked up"


def test_64_concurrent_calls_have_no_error(box):
    with agent(box) as bash:
        for number in range(64):
            bash.server.send(request(1000 + number, "tools/call", name="Bash",
                                     arguments={"command": f"echo {number}", "soft_timeout": 300}))
        texts = {}
        for _ in range(64):
            answer = bash.server.take(timeout=PATIENCE)
            assert not answer["result"]["isError"], answer
            texts[answer["id"] - 1000] = answer["result"]["content"][0]["text"]
        assert texts == {number: f"{number}\n" for number in range(64)}, texts


def test_a_cancelled_call_ends_its_command(box):
    sleep = f"53.{MARK}"
    with agent(box) as bash:
        bash.server.send(request(7, "tools/call", name="Bash", arguments={"command": f"setsid sleep {sleep} & sleep {sleep}"}))
        await_true(lambda: len(processes_with(f"sleep\0{sleep}")) == 2, "the command runs")
        bash.server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}})
        await_true(lambda: not processes_with(f"sleep\0{sleep}"), "the command ended")


def test_a_server_that_only_reads_offers_no_commands(box):
    with agent(box, "--readonly") as bash:
        listed = bash.server.ask(request(1, "tools/list"))["result"]["tools"]
        assert [tool["name"] for tool in listed] == ["Glob", "Grep", "List", "Read"], listed


def test_nothing_runs_after_the_server_has_ended(box):
    sleep = f"54.{MARK}"
    with agent(box) as bash:
        bash.call("Bash", command=f"setsid sleep {sleep} & sleep {sleep}", run_in_background=True)
        await_true(lambda: len(processes_with(f"sleep\0{sleep}")) == 2, "the command runs")
    await_true(lambda: not processes_with(f"sleep\0{sleep}"), "the command ended")
