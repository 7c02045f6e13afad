#!/usr/bin/env python3
"""Runs the attacks of cases/*.toml against polybox, in every isolation grade that this host can give.

README.md has the keys of an attack. Every attack must come to its decisive step in the jail and fail there, and its
canary must succeed outside of it: an attack that fails everywhere proves nothing. Usage: run.py [--grade GRADE]
[--start WAY] [--no-canaries] [--cases DIRECTORY] [WORD...] runs those whose category and name have all the words. POLYBOX names
another binary than build/polybox; POLYBOX_SERVE has arguments for every server, such as --reuse=off.
"""
import argparse
import base64
import collections
import concurrent.futures
import contextlib
import dataclasses
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import agents
import grades
import marker
import served
import tables

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "driver"))

import serving  # noqa: E402 (it is found there)
import world  # noqa: E402 (it is found there)

BINARY = pathlib.Path(os.environ.get("POLYBOX", HERE.parent.parent / "build" / "polybox")).resolve()
# Most of a run is waiting: on two cores three of them take a third less time than two.
WORKERS = 3
TIMEOUT = 60
CANARY_TRIES = 3
SLOWEST = 8
# A canary whose supervisor was the victim may still be about to say so.
LAST_WORDS = 2
ESCAPED = tables.ESCAPED
# In the environment of whatever holds an attack: polybox, or the supervisor of a canary. Never in the attack's own.
TOKEN = ("ATTACK_TOKEN", "the-token-of-the-host")

# Whether polybox finds cgroup v2 here.
UNIFIED = pathlib.Path("/sys/fs/cgroup/cgroup.controllers").exists()
# How their programs find packages, for canaries.
PACKAGES_VARIABLE = {"python": "PYTHONPATH", "node": "NODE_PATH", "ruby": "RUBYLIB"}
# Compilers of canaries; the program and its source follow.
COMPILERS = {"c": ["gcc", "-std=gnu17", "-O2", "-w", "-pthread", "-lm"], "go": ["go", "build"]}
SUPERVISOR = ["bash", "-c", f'env -u {TOKEN[0]} "$@"; exit $?', "supervisor"]
HOLDER = [sys.executable, str(HERE / "holder.py")]
NAMESPACES = ["unshare", "--mount", "--pid", "--fork", "--ipc", "--uts", "--net", "--mount-proc", "--kill-child"]
# How a setup starts a second program the way the attack is started: {run} FILE.
RUN_BARE = "sh -c 'case $0 in *.py) exec python3 $0;; *) exec bash $0;; esac'"


class Skip(Exception):
    """Why something cannot be run on this machine."""


class Failure(Exception):
    """What an attack or a canary did that it must not."""


@dataclasses.dataclass
class Done:
    code: int
    out: str
    err: str

    def __str__(self):
        return f"exit {self.code}\nstdout: {self.out[-3000:]}\nstderr: {self.err[-3000:]}"


def environment(folder, extra=()):
    clean = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": str(folder), "TMPDIR": str(folder / "tmp")}
    clean |= {"POLYBOX_CACHE_DIR": str(folder / "cache"), "POLYBOX_PACKAGES_DIR": str(folder / "packages")}
    return clean | serving.SETTINGS | dict(extra)


def end_session(leader):
    """Kills what is left of a session that we started; its members are found by its number, never by name."""
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == leader:
                os.kill(int(entry.name), signal.SIGKILL)
        except (OSError, IndexError):
            continue


def execute(command, folder, extra=(), timeout=TIMEOUT, home="place"):
    """Runs it with its output in files, for a pipe would wait for all who hold it."""
    with open(folder / "out", "w+b") as out, open(folder / "err", "w+b") as err:
        process = subprocess.Popen([str(part) for part in command], env=environment(folder, extra), cwd=folder / home,
                                   stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            end_session(process.pid)
            process.wait()
            raise Failure(f"did not end within {timeout} s\n" + (folder / "out").read_text(errors="replace")[-3000:])
        return process.pid, Done(code, *((folder / name).read_text(errors="replace") for name in ("out", "err")))


def run_script(text, folder):
    """A setup or teardown, on the host: its session, and what it prints, which is the host's word on the attack."""
    with open(folder / "script.out", "w+b") as out:
        process = subprocess.Popen(["bash", "-c", text], env=environment(folder), cwd=folder / "place",
                                   stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                   start_new_session=True)
        try:
            code = process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            end_session(process.pid)
            code = process.wait()
    said = (folder / "script.out").read_text(errors="replace")
    if code != 0:
        end_session(process.pid)
        raise Failure(f"the setup or teardown failed: {code}\n{said}")
    return process.pid, said


def with_files(attack):
    """The code with a first line that makes the attack's extra files: polybox run takes one file."""
    files = attack.get("files", {})
    if "guest_egress" in attack:
        files = files | {"ways.py": (HERE / "ways.py").read_text()}
    if not files:
        return attack["code"]
    packed = {name: base64.b64encode(text.encode()).decode() for name, text in files.items()}
    if attack["language"] == "python":
        lines = [f"open({name!r}, 'wb').write(__import__('base64').b64decode('{data}'))"
                 for name, data in packed.items()]
        return "; ".join(lines) + "\n" + attack["code"]
    return "".join(f"base64 -d > '{name}' <<< {data}\n" for name, data in packed.items()) + attack["code"]


def program_of(attack):
    """The whole text of the attack, with its files and the function that prints its marker."""
    return marker.with_helper(attack["language"], with_files(attack))


def started_by(language, attack):
    """The attack as a program in another language that turns into it, or starts it and ends as it does."""
    code = program_of(attack)
    if language == "ruby":
        lines = f"File.write('attack.sh', <<'END_OF_ATTACK')\n{code}\nEND_OF_ATTACK\nexec('bash', 'attack.sh')\n"
    else:
        lines = (f"require('fs').writeFileSync('attack.sh', {json.dumps(code)});\n"
                 "const done = require('child_process').spawnSync('bash', ['attack.sh'], {stdio: 'inherit'});\n"
                 "if (done.signal) process.kill(process.pid, done.signal);\n"
                 "process.exitCode = done.status;\n")
    return attack | {"language": language, "text": lines}


class Place:
    """A temporary directory that everyone can read: what keeps a guest out of it must be the jail, not a mode."""

    def __init__(self, attack, uid, run, workspace=False):
        self.attack, self.uid, self.run, self.marks = attack, uid, run, marker.Marks()
        # The path of the workspace, if the attack is a command in one.
        self.workspace = "{tmp}/place" if workspace else ""
        # What the programs that setup and teardown started have said: to these scripts, or to files beside them.
        self.beside = ""

    def __enter__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="polybox-attack-"))
        self.path.chmod(0o755)
        for name in ("place", "cache", "packages", "tmp", "world"):
            (self.path / name).mkdir(mode=0o755)
            os.chown(self.path / name, self.uid, -1)
        if "base_dir" in self.attack:
            self.make_base_dir()
        self.program = self.path / self.home() / self.attack.get("file", tables.FILE_NAMES[self.attack["language"]])
        self.session = None
        self.program.write_text(self.expand(self.attack.get("text") or program_of(self.attack)))
        try:
            if "setup" in self.attack:
                self.session, self.beside = run_script(self.expand(self.attack["setup"]), self.path)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        # Whoever the setup started is gone by now, unless something went wrong.
        if self.session:
            end_session(self.session)
        shutil.rmtree(self.path, ignore_errors=True)

    def close(self):
        self.__exit__()

    def expand(self, text):
        return self.marks.expand(text.replace("{workspace}", self.workspace).replace("{tmp}", str(self.path)).replace("{run}", self.run))

    def home(self):
        """Where the program is, and its working directory."""
        return "base" if "base_dir" in self.attack else "place"

    def make_base_dir(self):
        """A directory that the server finds there, and a client with its functions."""
        base = self.path / "base"
        base.mkdir(mode=0o755)
        os.chown(base, self.uid, -1)
        if "client" in self.attack:
            helper = "{reached.python}\nfrom client import *\n"
            (self.path / "attack_client.py").write_text(self.expand(helper + self.attack["client"]))

    def run_client(self, port, server):
        """What the attack's client program says, which runs on the host."""
        done = subprocess.run([sys.executable, self.path / "attack_client.py", str(port), str(server)], cwd=self.path,
                              env=environment(self.path, [("PYTHONPATH", str(HERE))]), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", timeout=TIMEOUT)
        return done.stdout + done.stderr

    def give_workspace(self, owner):
        """Gives the directory of the attack to the user for whom an agent works."""
        for path in [self.path / "place", *(self.path / "place").rglob("*")]:
            os.chown(path, owner, -1, follow_symlinks=False)

    def prefix(self):
        """What starts the attack where its hosts are."""
        return world.prefix(self.path / "world") if "guest_egress" in self.attack else []

    def teardown(self):
        said = run_script(self.expand(self.attack["teardown"]), self.path)[1] if "teardown" in self.attack else ""
        files = [file for file in self.path.iterdir() if file.is_file() and not file.is_symlink()]
        self.beside += "".join(file.read_text(errors="replace") for file in files)
        return said


def check_facts(facts, outcome, shown):
    for key, wanted in facts.items():
        got = outcome.get(key) if outcome else None
        if got not in (wanted if isinstance(wanted, list) else [wanted]):
            raise Failure(f"{key} is {got!r}, not {wanted!r}\n{shown}")


def expected_of(attack):
    expected = attack.get("expect", {})
    return attack.get("expect_v2", expected) if UNIFIED else expected


def check_marker(place, attack, said, shown, grade=None):
    """An attack that did not come to its decisive step proves nothing, unless it is stated why it cannot. The same holds
    for the programs that its setup and teardown start."""
    missing = place.marks.missing(attack, said + place.beside)
    stated = grade is not None and not attack.get("unreached", {}).keys().isdisjoint({grade.name, str(grade)})
    if missing and not stated:
        raise Failure(f"the attack did not print its marker: {', '.join(missing)}\n{shown}")
    if stated and not missing:
        raise Failure(f"the attack came to its decisive step, though `unreached` says that it does not\n{shown}")


def check_compiled(grade, attack, document, shown):
    """A program that does not compile attacks nobody, unless the attack is on the compiler."""
    if not document["compile"]:
        return
    stated = attack.get("uncompiled", {})
    refusal_expected = isinstance(stated, str) or grade.name in stated
    compiled = document["compile"]["end"] == "exited" and document["compile"]["exit_code"] == 0
    if not compiled and not refusal_expected:
        raise Failure(f"the attack was not compiled\n{shown}")
    if compiled and refusal_expected and not grade.excuses(attack):
        raise Failure(f"the attack was compiled, though `uncompiled` says that it is not\n{shown}")


def attack_on_server(grade, attack):
    """The attack in a slot that other programs had before it, or as a command in the base directory."""
    with Place(attack, grade.uid, grade.shell()) as place:
        if "before" in attack:
            result, problem = served.meet(grade, attack, place, environment(place.path, [TOKEN]))
        else:
            result, problem = served.command(grade, attack, place, environment(place.path, [TOKEN]), place.run_client)
        if problem:
            raise Failure(problem)
        seen = place.teardown()
    shown = json.dumps(result, indent=1)[-4000:].replace("\\n", "\n") + seen
    if not grade.excuses(attack) and ESCAPED in result["stdout"] + result["stderr"] + seen:
        raise Failure(f"ESCAPED\n{shown}")
    check_marker(place, attack, result["stdout"] + result["stderr"] + seen, shown, grade)
    if grade.name == "full":
        check_facts(expected_of(attack), result, shown)


def prepare(grade, attack):
    """Its place; None where it is stated that the attack differs, which may be because of its preparations."""
    try:
        return Place(attack, grade.uid, grade.shell(), grade.workspace).__enter__()
    except Failure:
        if grade.name in attack and not attack.get("unreached", {}).keys().isdisjoint({grade.name, str(grade)}):
            return None
        raise


def attack_by_agent(grade, attack):
    """The attack as a command in a workspace; it must fail there, and the workspace must not."""
    place = prepare(grade, attack)
    if place is None:
        return
    with contextlib.closing(place):
        try:
            data = agents.run(grade, attack, place, environment(place.path, [TOKEN]))
        except agents.Failed as failure:
            raise Failure(str(failure))
        finally:
            seen = place.teardown()
    shown = json.dumps(data, indent=1)[-4000:].replace("\\n", "\n") + seen
    said = data["said"] + seen
    if agents.NOT_COMPILED in said and not attack.get("uncompiled"):
        raise Failure(f"the attack was not compiled\n{shown}")
    if not grade.excuses(attack) and ESCAPED in said:
        raise Failure(f"ESCAPED\n{shown}")
    check_marker(place, attack, said, shown, grade)
    if "guest_egress" in attack and data["exit_code"] != attack["expect"]["exit_code"]:
        raise Failure(f"the host on its list was not reached\n{shown}")


def attack_in(grade, attack):
    """The attack in the jail; it must fail there, and the jail must not."""
    if "before" in attack or "base_dir" in attack:
        return attack_on_server(grade, attack)
    if grade.workspace:
        return attack_by_agent(grade, attack)
    if grade.through:
        attack = started_by(grade.through, attack)
    arguments = ["--json", "--language", attack["language"]] + (["--warm"] if grade.warm else [])
    arguments += [f"--{key}={attack[key]}" for key in ("timeout", "memory") if key in attack]
    arguments += [f"--guest-egress={host}" for host in attack.get("guest_egress", [])]
    place = prepare(grade, attack)
    if place is None:
        return
    with contextlib.closing(place):
        try:
            _, done = execute([*place.prefix(), *grade.run(), *arguments, place.program], place.path, [TOKEN])
        finally:
            seen = place.teardown()
    try:
        document = json.loads(done.out)
    except json.JSONDecodeError:
        raise Failure(f"polybox itself failed\n{done}")
    steps = [step for step in (document["compile"], document["run"]) if step]
    shown = json.dumps(steps, indent=1)[-4000:].replace("\\n", "\n") + seen
    if document["isolation"] != grade.name:
        raise Failure(f"isolation is {document['isolation']}, not {grade.name}")
    if grade.warm and document["run"]["warm"] == attack.get("cold", False) and document["run"]["end"] in ("exited", "signalled"):
        raise Failure(f"warm is {document['run']['warm']}\n{shown}")
    if any(step["end"] == "setup_failed" for step in steps):
        raise Failure(f"the jail could not be made\n{shown}")
    check_compiled(grade, attack, document, shown)
    if not grade.excuses(attack) and ESCAPED in done.out + done.err + seen:
        raise Failure(f"ESCAPED\n{shown}")
    check_marker(place, attack, done.out + done.err + seen, shown, grade)
    if grade.name == "full":
        outcome = document["run"] or {}
        streams = {name: place.marks.without(outcome.get(name) or "") for name in ("stdout", "stderr")}
        check_facts(expected_of(attack), outcome | streams, shown)


def compiled(attack, place):
    """The program, and what the compiler said."""
    program = place.path / "place" / "attack"
    done = subprocess.run([*COMPILERS[attack["language"]], "-o", program, place.program], cwd=place.path / "place",
                          env=environment(place.path), timeout=TIMEOUT, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(f"the canary was not compiled\n{done.stderr}")
    return program, done.stderr


def canary_of(attack):
    """The attack without a jail, as root; it must succeed, for which it has some tries: it is not what is tested."""
    for left in reversed(range(CANARY_TRIES)):
        try:
            return try_canary(attack)
        except Failure:
            if left == 0:
                raise


def run_before(attack, place, extra):
    """The programs before it, one after the other, bare as well."""
    for number, text in enumerate(attack.get("before", [])):
        program = place.path / "place" / f"before-{number}"
        program.write_text(place.expand(marker.with_helper(attack["language"], text)))
        execute([*tables.BARE[attack["language"]], program], place.path, extra)


def bare_packages(attack, place):
    """What its packages are in a canary: a directory, and the variable that names it."""
    for name, text in attack.get("packages", {}).items():
        file = place.path / "packages" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return [(PACKAGES_VARIABLE[attack["language"]], str(place.path / "packages"))] if "packages" in attack else []


def canary_command(attack, program):
    command = [*tables.BARE[attack["language"]], program]
    if attack["canary"] == "namespaces":
        command = [*NAMESPACES, *command]
    return [*(HOLDER if attack["canary"] == "held" else SUPERVISOR), *command]


def try_canary(attack):
    if attack["canary"] == "together":
        attack = attack | {"code": "\n".join([*attack["before"], attack["code"]]), "before": []}
    with Place(attack, 0, RUN_BARE) as place:
        try:
            program, said = compiled(attack, place) if attack["language"] in COMPILERS else (place.program, "")
            packages = bare_packages(attack, place)
            run_before(attack, place, packages)
            leader, done = execute([*place.prefix(), *canary_command(attack, program)], place.path, [TOKEN, *packages],
                                   home=place.home())
            until = time.monotonic() + LAST_WORDS
            while ESCAPED not in (place.path / "out").read_text(errors="replace") and time.monotonic() < until:
                if attack.get("teardown") and ESCAPED in attack["teardown"]:
                    break
                time.sleep(0.05)
            out = (place.path / "out").read_text(errors="replace")
        finally:
            seen = place.teardown()
        said += (place.path / "err").read_text(errors="replace")
        end_session(leader)
    if ESCAPED not in out + seen:
        raise Failure(f"the canary did not succeed, so the attack proves nothing\n{done}\n{seen}")
    check_marker(place, attack, out + said + seen, f"{done}\n{seen}")


def make_grades(folder, flags):
    """The grades that the command line asks for, each with None or the reason why this host does not give it."""
    copy = pathlib.Path(folder) / "polybox"
    shutil.copy(BINARY, copy)
    copy.chmod(0o755)
    nobody, uid = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--", str(copy)], 65534
    if os.geteuid() != 0:
        nobody, uid = [str(copy)], os.geteuid()
    found = grades.starts_of(grades.Grade("full", [str(copy)], 0)) if os.geteuid() == 0 else []
    # Landlock as an ordinary user, where guests share our uid: the harder case. None with a uid of their own, for
    # there an attack would meet the other programs of its user.
    found += grades.starts_of(grades.Grade("rootless", nobody, uid))
    found += grades.cold_starts_of(grades.Grade("landlock", nobody, uid))
    found += grades.cold_starts_of(grades.Grade("none", [str(copy)], 0)) if os.geteuid() == 0 else []
    return [(grade, why_not(grade)) for grade in found
            if flags.grade in (None, grade.name) and flags.start in (None, grade.start()) and grade.belongs_to(flags.part)]


def why_not(grade):
    trial = {"name": "trial", "language": "bash", "code": "reached"}
    if not grade.through:
        trial |= {"language": "python", "code": "reached()"}
    try:
        attack_in(grade, trial)
    except Failure as failure:
        return str(failure)
    return None


def run_one(job):
    """Title, outcome, text and seconds of a job."""
    title, function, arguments = job
    begin = time.monotonic()
    try:
        function(*arguments)
        outcome, text = "passed", ""
    except Skip as reason:
        outcome, text = "skipped", str(reason)
    except Exception as failure:
        outcome, text = "failed", str(failure) if isinstance(failure, Failure) else repr(failure)
        # At once, for a suite that is ended before its report.
        print(f"failed: {title}\n{text}\n", flush=True)
    return title, outcome, text, time.monotonic() - begin


def print_times(results):
    """What the suite's time went into: each kind of run, and the slowest of all."""
    kinds = collections.defaultdict(list)
    for title, _, _, seconds in results:
        kinds[title.rpartition(" [")[2].rstrip("]")].append(seconds)
    for kind, times in sorted(kinds.items(), key=lambda item: -sum(item[1])):
        print(f"time: {sum(times):.0f} s for {len(times)} runs: {kind}")
    for title, _, _, seconds in sorted(results, key=lambda result: -result[3])[:SLOWEST]:
        print(f"time: {seconds:.1f} s for {title}")


def refuse(reason):
    raise Skip(reason)


def make_jobs(attacks, starts, canaries):
    jobs = []
    for category, attack in attacks:
        title = f"{category}: {attack['name']}"
        for grade, missing in starts:
            if not grade.takes(attack):
                continue
            missing = missing or ("guest_egress" in attack and world.why_not())
            missing = missing or (os.geteuid() != 0 and attack.get("root"))
            function, arguments = (refuse, (missing,)) if missing else (attack_in, (grade, attack))
            jobs.append((f"{title} [{grade}]", function, arguments))
        if canaries and "canary" in attack:
            function, arguments = (canary_of, (attack,)) if os.geteuid() == 0 else (refuse, ("canaries need root",))
            jobs.append((f"{title} [canary]", function, arguments))
    return jobs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--grade", choices=("full", "rootless", "landlock", "none"))
    parser.add_argument("--start", choices=("cold", "warm", "workspace"), help="only this way to start an attack")
    parser.add_argument("--part", choices=("all", "test", "deep"), default="all",
                        help="what make test runs, or the weaker grades in every way to start them (make test-deep)")
    parser.add_argument("--no-canaries", action="store_true")
    parser.add_argument("--served", action="store_true", help="only attacks that need a server")
    parser.add_argument("--cases", type=pathlib.Path, default=HERE / "cases", help="the directory of the tables")
    parser.add_argument("words", nargs="*")
    flags = parser.parse_args()
    if not BINARY.exists():
        sys.exit(f"{BINARY} is not there: run make test")
    attacks = tables.load(flags.cases)
    broken = tables.broken_rules(attacks)
    chosen = [(category, attack) for category, attack in attacks
              if tables.NEEDED <= attack.keys() and all(word in f" {category}: {attack['name']}" for word in flags.words)
              and (not flags.served or not tables.SERVED.isdisjoint(attack))]
    with tempfile.TemporaryDirectory(prefix="polybox-attacks-") as folder:
        os.chmod(folder, 0o755)
        starts = make_grades(folder, flags)
        jobs = make_jobs(chosen, starts, not flags.no_canaries and flags.part != "deep")
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            results = list(pool.map(run_one, jobs))
    counts = collections.Counter(outcome for _, outcome, _, _ in results)
    skipped = collections.Counter(text for _, outcome, text, _ in results if outcome == "skipped")
    for reason, count in skipped.items():
        print(f"skipped: {count} because {reason}")
    for rule in broken:
        print(f"failed: {rule}")
    for category, attack in chosen:
        if "open" in attack:
            print(f"open: {category}: {attack['name']}: {attack['open']}")
    tables.print_table(chosen)
    print_times(results)
    print(f"{counts['passed']} passed, {counts['failed'] + len(broken)} failed, {counts['skipped']} skipped")
    in_no_jail = all(missing for _, missing in starts)
    return 1 if counts["failed"] or broken or in_no_jail or not jobs else 0


if __name__ == "__main__":
    sys.exit(main())
