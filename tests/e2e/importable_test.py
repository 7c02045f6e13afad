"""preinstalled_packages: what programs of the mode's language can import beyond its standard library, asked in the jail."""
import json
import pathlib
import shutil
import subprocess
import time

from serving import Server

# A distribution that any installer could have left: a module and its metadata.
METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"


def install(folder, name, module):
    (folder / f"{module}.py").write_text("x = 42\n")
    (folder / f"{name}-1.0.dist-info").mkdir()
    (folder / f"{name}-1.0.dist-info" / "METADATA").write_text(METADATA.format(name=name))
    (folder / f"{name}-1.0.dist-info" / "RECORD").write_text(f"{module}.py,,\n{name}-1.0.dist-info/METADATA,,\n")


def test_the_error_output_of_an_interpreter_that_fails_is_logged_escaped_and_forges_no_line(box):
    forged = '{"level":"error","message":"forged"}'
    text = (box.root / "languages" / "bash.toml").read_text()
    command = f"""printf '\\033[31mred\\n{forged}\\n' >&2; head -c 5000 /dev/zero | tr '\\0' x >&2; exit 1"""
    table = f"[run]\nimportable = ['{{executable}}', '-c', {json.dumps(command)}]\n"
    assert text.count("[run]\n") == 1, "the language file has changed"
    box.write("languages/bash.toml", text.replace("[run]\n", table))
    with Server(["--mode", "shell", "--languages-dir", str(box.path / "languages")]) as server:
        log = server.whole_log()
    lines = [json.loads(line) for line in log.splitlines()]
    told = [line for line in lines if line["message"] == "could not list the packages of a language"]
    assert len(told) == 1 and told[0]["why"] == "exited, exit code 1", lines
    assert told[0]["said"].startswith("\\u001b[31mred\\n") and len(told[0]["said"]) < 400, told
    assert b"\x1b" not in log and not [line for line in lines if line["message"] == "forged"], log


def virtual_environment(box):
    """An interpreter with packages of its own, as an image has one."""
    python = shutil.which("python3", path="/usr/bin:/bin")
    if python is None:
        raise Skip("no python3 in /usr/bin")  # noqa: F821 (run.py puts it here)
    # Where guests can be shown it: not below /tmp, which a jail has for itself.
    home = pathlib.Path("/var/tmp") / f"polybox-venv-{box.path.name}"
    done = subprocess.run([python, "-m", "venv", "--without-pip", str(home)], capture_output=True, text=True)
    if done.returncode != 0:
        shutil.rmtree(home, ignore_errors=True)
        raise Skip(f"no virtual environment: {done.stderr[:200]}")  # noqa: F821
    return home, next(home.glob("lib/python3*/site-packages"))


def listed(home, cache):
    path = f"{home}/bin:/usr/bin:/bin"
    with Server(["--mode", "python", "--cache-dir", str(cache)], path=path) as server:
        packages = server.health["preinstalled_packages"]
        # What is listed can be imported, by a guest.
        modules = {"polybox-first": "polybox_first", "polybox-second": "polybox_second"}
        for package in set(packages) & modules.keys():
            result = server.execute(f"import {modules[package]} as m; print(m.x)")
            assert result["stdout"] == "42\n", result
        return packages


def test_modules_of_an_image_are_listed_with_those_added_later(box):
    home, site = virtual_environment(box)
    try:
        install(site, "polybox-first", "polybox_first")
        # Metadata alone is nothing that can be imported.
        install(site, "polybox-stubs", "gone")
        (site / "gone.py").unlink()
        cache = box.path / "cache"
        assert listed(home, cache) == ["polybox-first"]
        kept = json.loads((cache / "importable.json").read_text())
        assert kept["entries"]["python"]["packages"] == ["polybox-first"], kept
        # From the cache: a list that only the cache has.
        kept["entries"]["python"]["packages"] = ["polybox-first", "from-the-cache"]
        (cache / "importable.json").write_text(json.dumps(kept))
        assert listed(home, cache) == ["polybox-first", "from-the-cache"]
        # sleeps: the kernel's clock for file times ticks every 10 ms at the latest, and the next change must show.
        time.sleep(0.02)
        install(site, "polybox-second", "polybox_second")
        assert listed(home, cache) == ["polybox-first", "polybox-second"]
        (cache / "importable.json").write_text("{ damaged")
        assert listed(home, cache) == ["polybox-first", "polybox-second"]
    finally:
        shutil.rmtree(home, ignore_errors=True)


def test_packages_of_node_that_lie_beside_programs_are_listed(box):
    with Server(["--mode", "node"]) as server:
        if "node" not in server.health["languages"]:
            raise Skip("node is not available")  # noqa: F821
        for package in server.health["preinstalled_packages"]:
            result = server.execute(f"console.log(require.resolve({json.dumps(package)}) !== '')")
            assert result["stdout"] == "true\n", (package, result)
        has_lodash = server.execute("require('lodash')")["status"] == "success"
        assert has_lodash == ("lodash" in server.health["preinstalled_packages"]), server.health
