"""What Node says of ES modules is the same in the jail, cold and warm, as without one: its warnings included."""
import re
import shutil
import subprocess

ESM = "import { readFileSync } from 'node:fs';\nconsole.log(typeof readFileSync, typeof require, await 42);\n"
# Name: the files, the program's own first.
PROGRAMS = {
    "a module in a .js file": {"script.js": ESM},
    "a module in a .js file that fails": {"script.js": ESM + "throw new Error('no');\n"},
    "a module in a .mjs file": {"main.mjs": ESM},
    "a module imported by a script": {"script.js": "import('./m.mjs').then(m => console.log(m.x));\n", "m.mjs": "export const x = 1;\n"},
    "a module in a .js file imported by a module": {"script.js": "import { x } from './m.js';\nconsole.log(x);\n", "m.js": "export const x = 1;\n"},
    "a module in a package without a type": {
        "script.js": "import { x } from './lib/m.js';\nconsole.log(x);\n", "lib/m.js": "export const x = 1;\n",
        "lib/package.json": "{\"name\": \"lib\"}"},
    "a package with a type": {
        "script.js": "import('./lib/m.js').then(m => console.log(m.x));\n", "lib/m.js": "export const x = 1;\n",
        "lib/package.json": "{\"type\": \"module\"}"},
    "a script": {"script.js": "console.log(typeof require); console.error('x'); process.emitWarning('mine');\n"},
    "a module that does not parse": {"script.js": "import 'fs';\nlet x = ;\n"},
}


def normalised(text, folder):
    return re.sub(r"\(node:\d+\)", "(node:PID)", text.replace(str(folder), "/sandbox"))


def bare(box, files):
    folder = box.path / "bare"
    for name, text in files.items():
        box.write(f"bare/{name}", text)
    entry = next(iter(files))
    done = subprocess.run(["node", str(folder / entry)], cwd=folder, env=box.env(), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60)
    return done.returncode, normalised(done.stdout, folder), normalised(done.stderr, folder)


def jailed(server, files):
    entry, *_ = files
    listed = [{"name": name, "content": text} for name, text in files.items()]
    run = server.ask({"path": "/v1/run", "json": {"runtime": "node", "files": listed}}).json()["run"]
    from base64 import b64decode
    return run["exit_code"], *(normalised(b64decode(run[stream]).decode(), "/sandbox") for stream in ("stdout", "stderr"))


def executed(server, files):
    from base64 import b64encode
    entry, *others = files
    more = {name: b64encode(files[name].encode()).decode() for name in others}
    result = server.execute(files[entry], language="node", files=more)
    return result["exit_code"], normalised(result["stdout"], "/sandbox"), normalised(result["stderr"], "/sandbox")


def check_modules(box, option):
    from serving import Server
    if shutil.which("node") is None:
        raise Skip("node is not installed")  # noqa: F821 (run.py puts it here)
    with Server([option]) as server:
        if server.health["isolation"] not in ("full", "rootless"):
            raise Skip("paths of programs differ without namespaces")  # noqa: F821
        for name, files in PROGRAMS.items():
            wanted = bare(box, files)
            # Files of the run dialect have plain names, the program of /execute always has the same.
            plain = not any("/" in each for each in files)
            if plain:
                assert jailed(server, files) == wanted, (name, jailed(server, files), wanted)
            if "script.js" in files:
                assert executed(server, files) == wanted, (name, executed(server, files), wanted)


def test_modules_started_cold_say_what_bare_node_says(box):
    check_modules(box, "--warm=off")


def test_modules_started_warm_say_what_bare_node_says(box):
    check_modules(box, "--warm=on")
