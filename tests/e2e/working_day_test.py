"""A day of a coding agent: projects in three languages with packages from their registries, over `polybox mcp`."""
import os
import subprocess
import types

import registry_clients
from coding_agent import PATIENCE, Agent, directory, serving
from traces import Program, Traces, await_true

# A user without a home and without a name on this machine: the package caches are then those of the server's user.
OWNER = 54321
# Installers download and compile; the machine may be busy.
INSTALL = {"timeout": 600, "soft_timeout": 600, "patience": 900}

# A registry may fail once in a while. The last line says what went wrong.
THRICE = "for attempt in 1 2 3; do {} && exit 0; done; exit 1"

DAYS = {
    "node": {
        "files": {
            "package.json": '{"name": "day", "version": "1.0.0", "private": true}\n',
            "server.js": ("const isNumber = require('is-number');\n"
                          "require('http').createServer((_, answer) => answer.end('hello ' + isNumber('5') + '\\n'))\n"
                          "  .listen(3000, '127.0.0.1');\n"),
        },
        "install": ["npm install --no-audit --no-fund is-number@7.0.0"],
        "made": "node_modules/is-number/package.json",
        "source": "server.js",
        "build": "true",
        "run": "exec node server.js",
        "said": "hello true\n",
        "port": 3000,
    },
    "go": {
        # Without net/http, whose compilation takes half a minute.
        "files": {
            "go.mod": "module example.org/day\n\ngo 1.21\n",
            "main.go": """package main

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sync/errgroup"
)

func main() {
	listener, err := net.Listen("tcp4", "127.0.0.1:3001")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for {
		connection, err := listener.Accept()
		if err != nil {
			os.Exit(1)
		}
		var group errgroup.Group
		group.Go(func() error {
			connection.Read(make([]byte, 4096))
			fmt.Fprint(connection, "HTTP/1.0 200 OK\\r\\n\\r\\nhello group\\n")
			return connection.Close()
		})
		group.Wait()
	}
}
""",
        },
        "install": ["go get golang.org/x/sync@v0.10.0"],
        "made": "go.sum",
        "source": "main.go",
        "build": "CGO_ENABLED=0 go build -o server .",
        "run": "exec ./server",
        "said": "hello group\n",
        "port": 3001,
    },
    "python": {
        "files": {
            "server.py": """import http.server
import six


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(six.ensure_binary("hello six\\n"))


http.server.HTTPServer(("127.0.0.1", 3002), Handler).serve_forever()
""",
        },
        "install": ["python3 -m venv .venv", ".venv/bin/pip install --quiet six==1.17.0"],
        "made": ".venv/pyvenv.cfg",
        "source": "server.py",
        "build": "true",
        "run": "exec .venv/bin/python server.py",
        "said": "hello six\n",
        "port": 3002,
    },
}


def write_project(bash, workspace, name):
    for file, text in DAYS[name]["files"].items():
        bash.text("Write", file_path=str(workspace / name / file), content=text)


def start(bash, workspace, name):
    day = DAYS[name]
    build = bash.call("Bash", command=day["build"], cwd=name, **INSTALL)
    assert build[1]["exit_code"] == 0, build
    shell = bash.call("Bash", command=day["run"], cwd=name, run_in_background=True)[1]["shell_id"]
    fetch = f"curl -s --retry 60 --retry-connrefused --retry-delay 1 localhost:{day['port']}"
    answer = bash.text("Bash", command=fetch, **INSTALL)
    return shell, answer, bash.text("BashOutput", shell_id=shell)


def work_on(bash, workspace, name):
    """Makes a project, installs its package, and runs its server before and after an edit."""
    day = DAYS[name]
    write_project(bash, workspace, name)
    for command in day["install"]:
        text, data = bash.call("Bash", command=THRICE.format(command), cwd=name, **INSTALL)
        assert data["exit_code"] == 0, text
    assert (workspace / name / day["made"]).exists(), name
    shell, answer, output = start(bash, workspace, name)
    assert answer == day["said"], (answer, output)
    bash.text("Edit", file_path=str(workspace / name / day["source"]), old_string="hello", new_string="changed")
    bash.text("KillShell", shell_id=shell)
    shell, answer, output = start(bash, workspace, name)
    assert answer == day["said"].replace("hello", "changed"), (answer, output)
    assert bash.text("KillShell", shell_id=shell) == f"killed: {shell}\n"


def foreign_files(workspace):
    """Files that do not belong to the owner of the workspace."""
    owner = workspace.stat().st_uid
    return [str(path) for path in [workspace, *workspace.rglob("*")] if path.lstat().st_uid != owner]


def as_owner(workspace, *command):
    """Runs a command of the user outside of polybox."""
    owner = workspace.stat().st_uid
    ids = ["setpriv", f"--reuid={owner}", f"--regid={owner}", "--clear-groups"] if owner != os.geteuid() else []
    done = subprocess.run([*ids, *command], cwd=workspace, env={"PATH": os.environ["PATH"], "HOME": str(workspace)},
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    return done.stdout


def traces_of(server, workspace):
    """What the server leaves on the host. Its file systems would show the workspace."""
    return Traces(types.SimpleNamespace(process=server.process, folder=types.SimpleNamespace(name=str(workspace))))


def test_a_working_day_with_packages_of_three_registries(box):
    if missing := registry_clients.why_not("npm", "go", "pip"):
        raise Skip(missing)  # noqa: F821 (run.py puts it here)
    box.write("home/.gitconfig", "[user]\n\tname = A User\n\temail = user@example.org\n")
    with directory(OWNER) as workspace:
        as_owner(workspace, "git", "init", "--quiet", "--initial-branch=main", ".")
        with serving(box, workspace, "--workspace-egress", "registries", env=registry_clients.variables()) as server:
            bash = Agent(server)
            bash.text("Write", file_path=str(workspace / ".gitignore"), content="node_modules\n.venv\n/go/server\n")
            for name in DAYS:
                work_on(bash, workspace, name)
            text = bash.text("Bash", command="git add . && git commit --quiet -m 'A day of work' && git status --short")
            assert text == "", text
            left = start(bash, workspace, "node")
            traces = traces_of(server, workspace)
            assert len(traces.processes) >= 3, "the server of the project runs"
            assert server.end(PATIENCE)[0] == 0, (server.errors, left)
        traces.check()
        log = as_owner(workspace, "git", "log", "--format=%an <%ae> %s", "--name-only")
        assert log.split("\n\n")[0] == "A User <user@example.org> A day of work", log
        assert set(log.split()) >= {"node/package-lock.json", "go/go.sum", "python/server.py"}, log
        assert foreign_files(workspace) == []


def test_a_killed_server_leaves_nothing_that_the_next_does_not_remove(box):
    program = Program()
    with directory(OWNER) as workspace:
        with serving(box, workspace) as server:
            bash = Agent(server)
            bash.text("Bash", command=f"echo x > made; setsid {program.mark} & exec {program.mark}", run_in_background=True)
            program.await_running()
            traces = traces_of(server, workspace)
            server.process.kill()
            server.process.wait()
        program.await_gone()
        with serving(box, workspace) as server:
            assert Agent(server).text("Bash", command="cat made") == "x\n"
            traces.check()
            assert server.end(PATIENCE)[0] == 0, server.errors
        assert foreign_files(workspace) == []
