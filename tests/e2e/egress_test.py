"""The network of guests and installers: whom they reach, whom they do not, and what is said about it.

Every server runs in a world of its own (tests/driver/world.py), where everyone who must not be reached listens.
"""
import base64
import contextlib
import http.client
import json
import pathlib
import re
import shlex
import socket
import tempfile

import scripted
import serving
import traces
import world

WAYS = (serving.ROOT / "tests" / "attacks" / "ways.py").read_text()
ALLOWED, OTHER = "allowed.example", "other.example"

# What a program tries that may reach ALLOWED alone. All of it is also in tests/attacks, one by one and with canaries:
# here it is for installers too, and behind every door.
PROBES = {
    "by_name": "attempt('other.example')",
    "by_port": "attempt('allowed.example', 80)",
    "by_address": "[attempt(a) for a in ('203.0.113.20', '203.0.113.10', '10.9.8.7', '169.254.169.254', '127.0.0.1')]",
    "by_redirect": """
import re
place = re.search(rb'Location: http://([^/]*)/', ask(through_proxy(ALLOWED, 443), '/to/other.example:443'))[1].decode()
attempt(place.split(':')[0], int(place.split(':')[1]))""",
    "by_dns": """
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    try: s.sendto(b'\\0\\7\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\6secret\\5other\\7example\\0\\0\\1\\0\\1', ('203.0.113.53', 53))
    except OSError as error: print(error)
try: socket.getaddrinfo('secret.other.example', 443)
except OSError as error: print(error)
attempt('secret.other.example')""",
    "by_ipv6": "[attempt(a) for a in ('2001:db8::20', 'fd00::7', '::1', '::ffff:203.0.113.20')]",
    "by_raw_socket": """
for family, kind, protocol in ((socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP), (socket.AF_INET, socket.SOCK_RAW, 6),
                               (socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP),
                               (socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6), (socket.AF_PACKET, socket.SOCK_RAW, 768)):
    try:
        socket.socket(family, kind, protocol)
        print('ESCAPED')
    except OSError as error: print(error)""",
}


def program(probe, last="print('allowed:', SECRET in ask(through_proxy(ALLOWED, 443)))"):
    return f"{WAYS}\n{probe}\n{last}\n"


class WorldServer(serving.Server):
    """Asked through its Unix socket: its network is its own."""

    def __init__(self, *args, **options):
        super().__init__(["--unix-socket", "{tmp}/socket", *args], prefix=world.prefix("{tmp}"), **options)

    def connection(self):
        connection = http.client.HTTPConnection("localhost", timeout=serving.TIMEOUT)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(serving.TIMEOUT)
        try:
            connection.sock.connect(f"{self.folder.name}/socket")
        except OSError:
            connection.close()
            raise
        return connection

    def seen(self, file):
        return pathlib.Path(self.folder.name, file).read_text().split("\n")[:-1]

    def counted(self, who):
        """By outcome."""
        page = self.ask({"method": "GET", "path": "/metrics"}).text
        found = re.findall(rf'^polybox_egress_requests_total{{who="{who}",outcome="(\w+)"}} (\d+)$', page, re.M)
        return {outcome: int(count) for outcome, count in found}


@contextlib.contextmanager
def served(*args, language="python"):
    if missing := world.why_not():
        raise Skip(missing)  # noqa: F821 (run.py puts it here)
    with WorldServer("--mode", "python", *args) as server:
        if language not in server.health["languages"]:
            raise Skip(f"{language} is not available")  # noqa: F821
        yield server


def check_world(server, probe):
    """Nobody but the allowed host was reached, and no name but its own looked up."""
    reached = set(server.seen("reached"))
    assert reached <= {"allowed", "allowed left"}, (probe, reached)
    assert "allowed" in reached, f"{probe}: a way out that leads nowhere proves nothing"
    assert set(server.seen("asked")) <= {ALLOWED}, (probe, server.seen("asked"))


# --- Guests, behind every door. ---

def by_execute(server, code):
    result = server.execute(code, language="python")
    return result["stdout"] + result["stderr"]


def by_run(server, code):
    body = {"runtime": "python", "files": [{"name": "main.py", "content": code}]}
    answer = server.ask({"path": "/v1/run", "json": body})
    assert answer.status == 200, answer
    result = answer.json()["run"]
    return base64.b64decode(result["stdout"] + result["stderr"]).decode()


def by_command(server, code):
    answer = server.ask({"path": "/execute", "json": {"command": f"python3 -c {shlex.quote(code)}"}})
    assert answer.status == 200, answer
    return answer.json()["stdout"] + answer.json()["stderr"]


DOORS = {"execute": by_execute, "run": by_run, "command": by_command}


def guests_of(door):
    def test(box):
        with served("--guest-egress", ALLOWED) as server:
            for name, probe in PROBES.items():
                said = DOORS[door](server, program(probe))
                assert "ESCAPED" not in said and said.endswith("allowed: True\n"), (name, said)
                check_world(server, name)
            counted = server.counted("guest")
            # The last line of each, and the redirect.
            assert counted["opened"] == len(PROBES) + 1, counted
            assert counted["not_listed"] >= 10 and counted["unreachable"] == 0, counted
            assert not any(server.counted("installer").values()), server.counted("installer")
    return test


def test_a_guest_learns_which_setting_allows_a_host_and_the_log_cannot_be_flooded(box):
    with served("--guest-egress", ALLOWED) as server:
        asked = 40
        said = by_execute(server, program(f"""
for i in range({asked}):
    try: through_proxy('other.example', 443)
    except OSError as error: said = str(error)
print(said)"""))
        wanted = ('polybox: other.example:443 may not be reached: it is not on the list; the setting guest-egress with '
                  '"other.example" would allow it\n')
        assert wanted in said, said
        assert server.counted("guest")["not_listed"] == asked, server.counted("guest")
        lines = [line for line in server.said().split("\n") if OTHER in line]
        assert len(lines) == 1 and json.loads(lines[0])["who"] == "guest", lines


def test_plain_http_is_answered_with_a_word_about_https(box):
    with served("--guest-egress", f"{ALLOWED}:80") as server:
        said = by_execute(server, f"""
import urllib.error, urllib.request
try: urllib.request.urlopen('http://{ALLOWED}/')
except urllib.error.HTTPError as error: print(error.code, error.read().decode())
{program("", "print(SECRET in ask(through_proxy(ALLOWED, 80)))")}""")
        assert said == ("405 polybox: this proxy knows only CONNECT, and so no plain http; use https, or a client that "
                        "tunnels (curl --proxytunnel)\n\nTrue\n"), said


def test_without_a_list_a_guest_has_no_network_and_is_told_of_none(box):
    with served() as server:
        said = by_execute(server, program("""
import os
print([name for name in os.environ if 'proxy' in name.lower()])
for way in (lambda: directly('127.0.0.1', 3128), lambda: through_proxy(ALLOWED, 443, '127.0.0.1:3128')):
    try: way(); print('reached')
    except OSError as error: print(error)
attempt('203.0.113.10')""", ""))
        assert said.startswith("[]\n") and "reached" not in said and "ESCAPED" not in said, said
        assert server.seen("reached") == [] and server.seen("asked") == [], server.seen("reached")


def test_an_inner_address_is_reached_when_it_is_listed_itself(box):
    with served("--guest-egress", "rebound.example", "--guest-egress", "10.9.8.7") as server:
        said = by_execute(server, program("attempt('rebound.example'); attempt('10.9.8.7'); attempt('127.0.0.1')", ""))
        assert said.count("ESCAPED through_proxy") == 2 and "127.0.0.1 may not be reached" not in said, said
        assert set(server.seen("reached")) == {"private"}, server.seen("reached")


def test_a_connection_ends_with_its_session_whoever_would_keep_it(box):
    with served("--guest-egress", ALLOWED) as server:
        for session in (1, 2):
            said = by_execute(server, program("""
import subprocess, sys
c = through_proxy(ALLOWED, 443)
c.sendall(b'GET /stay HTTP/1.1\\r\\n\\r\\n')
print(c.recv(100))
c.set_inheritable(True)
subprocess.Popen(['sleep', '1000'], close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)""", ""))
            assert "staying" in said, said
            traces.await_true(lambda: server.seen("reached").count("allowed left") == session,
                              "the host still has a guest that is gone")


def test_a_warm_interpreter_has_the_proxy_of_its_session(box):
    with served("--guest-egress", ALLOWED) as server:
        warm = 0
        for _ in range(60):
            said = by_execute(server, program(""))
            assert said == "allowed: True\n", said
            page = server.ask({"method": "GET", "path": "/metrics"}).text
            warm = sum(int(n) for n in re.findall(r'^polybox_warm_runs_total{language="python".*} (\d+)$', page, re.M))
            if warm >= 3:
                return
        raise AssertionError(f"{warm} of 60 runs were warm")


# --- Installers. ---

# Runs the program that its first argument has in hexadecimal digits.
INSTALLER = ("python3", "-c", "import os, sys; exec(bytes.fromhex(sys.argv[1]).decode())")


def installer_of(name):
    def test(box):
        # What it said is only shown when it fails.
        code = program(PROBES[name], "print('allowed:', SECRET in ask(through_proxy(ALLOWED, 443))); sys.exit(3)")
        with tempfile.TemporaryDirectory(prefix="polybox-languages-") as folder:
            pathlib.Path(folder, "scripted.toml").write_text(scripted.language(*INSTALLER, code.encode().hex()))
            with served("--egress-allow", ALLOWED, "--languages-dir", folder, language="scripted") as server:
                result = server.execute("print(1)", language="scripted", requirements=["six"])
                said = result["stderr"]
                assert said.startswith("package installation failed: exit status 3"), said
                assert "ESCAPED" not in said and "allowed: True\n" in said, said
                check_world(server, name)
                assert server.counted("installer")["opened"] >= 1, server.counted("installer")
                assert not any(server.counted("guest").values()), server.counted("guest")
                refused = re.search(r'the setting egress-allow with "[^"]+" would allow it', said)
                assert bool(refused) == (server.counted("installer")["not_listed"] > 0), said
    return test


if serving.has_serve():
    for door in DOORS:
        globals()[f"test_a_guest_reaches_nobody_off_its_list_behind_the_door_{door}"] = guests_of(door)
    for name in PROBES:
        globals()[f"test_an_installer_reaches_nobody_off_its_list_{name}"] = installer_of(name)
