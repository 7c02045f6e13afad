"""Requirements of a language in which they are ignored unless a setting names it: Go, with a module proxy of our own."""
import json
import os
import pathlib
import shutil
import tempfile
import zipfile

from serving import Server, has_serve

PROGRAM = 'package main\n\nimport "words.example/greet/inner"\n\nfunc main() { print(inner.Say()) }\n'


def publish(proxy, module, version, files, requires=()):
    """Puts a module where `GOPROXY=file://...` finds it."""
    folder = proxy / module / "@v"
    folder.mkdir(parents=True)
    mod = f"module {module}\n\ngo 1.21\n" + "".join(f"\nrequire {each}\n" for each in requires)
    (folder / "list").write_text(version + "\n")
    (folder / f"{version}.info").write_text(json.dumps({"Version": version}))
    (folder / f"{version}.mod").write_text(mod)
    with zipfile.ZipFile(folder / f"{version}.zip", "w") as archive:
        for name, text in {"go.mod": mod, **files}.items():
            archive.writestr(f"{module}@{version}/{name}", text)


def module_proxy(folder):
    proxy = pathlib.Path(folder)
    proxy.chmod(0o755)
    publish(proxy, "words.example/base", "v1.0.0", {"base.go": 'package base\n\nconst Word = "hello"\n'})
    publish(proxy, "words.example/greet", "v1.2.0", {"inner/greet.go": """package inner

import "words.example/base"

func Say() string { return base.Word + " there" }
"""}, ["words.example/base v1.0.0"])
    # The preinstalled one, which belongs to every set.
    publish(proxy, "golang.org/x/text", "v0.34.0", {"language/language.go": "package language\n"})
    # The last is how the installer's jail gets to see it; /tmp is its own there.
    return {"GOPROXY": f"file://{proxy}", "GOSUMDB": "off", "SSL_CERT_DIR": str(proxy)}


def execute(server, code, *requirements):
    return server.ask({"path": "/execute", "json": {"language": "go", "code": code, "timeout_seconds": 120,
                                                    "requirements": requirements}})


if has_serve() and shutil.which("go"):
    def test_go_modules_are_ignored_by_default_and_installed_when_a_setting_says_so(box):
        if os.geteuid() != 0:
            raise Skip("installers need namespaces of our own making")
        with tempfile.TemporaryDirectory(prefix="polybox-modules-", dir="/var/tmp") as folder:
            env = module_proxy(folder)
            ignored = Server(env=env)
            try:
                answer = execute(ignored, 'package main\n\nfunc main() { print("ran") }\n', "words.example/greet").json()
                assert (answer["stderr"], answer["install_time_ms"]) == ("ran", 0), answer
                assert "words.example/greet" in execute(ignored, PROGRAM, "words.example/greet").json()["stderr"]
            finally:
                ignored.stop()
            server = Server(["--requirements-for", "go"], env=env)
            try:
                for _ in range(2):
                    answer = execute(server, PROGRAM, "words.example/greet@v1.2.0").json()
                    assert (answer["exit_code"], answer["stderr"]) == (0, "hello there"), answer
                failed = execute(server, PROGRAM, "words.example/nothing").json()
                assert failed["stderr"].startswith("package installation failed: exit status 1: "), failed
                assert "words.example/nothing" in failed["stderr"], failed
                refused = execute(server, PROGRAM, "-modfile=/etc/passwd")
                assert refused.status == 400 and "expected a module path" in refused.text, str(refused)
            finally:
                server.stop()

    def test_a_setting_that_names_no_such_language_stops_the_start(box):
        done = box.run("serve", "--requirements-for", "python")
        assert done.returncode != 0 and "requirements-for" in done.stderr, done
