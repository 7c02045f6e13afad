#!/usr/bin/env python3
"""Runs the attacks of cases/*.toml against polybox, in every isolation grade that this host can give.

README.md has the keys of an attack. Every attack must fail in the jail, and its canary must succeed outside of it:
an attack that fails everywhere proves nothing. Usage: run.py [--grade GRADE] [--no-canaries] [WORD...] runs those
whose category and name have all the words. POLYBOX names another binary than build/polybox.
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
import tomllib

import served

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "driver"))

import world  # noqa: E402 (it is found there)

BINARY = pathlib.Path(os.environ.get("POLYBOX", HERE.parent.parent / "build" / "polybox")).resolve()
WORKERS = 2
TIMEOUT = 60
MOST_PROBES = 60
CANARY_TRIES = 3
# A canary whose supervisor was the victim may still be about to say so.
LAST_WORDS = 2
ESCAPED = "ESCAPED"
# In the environment of whatever holds an attack: polybox, or the supervisor of a canary. Never in the attack's own.
TOKEN = ("ATTACK_TOKEN", "the-token-of-the-host")

KEYS = {"name", "language", "code", "files", "defence", "expect", "expect_v2", "canary", "setup", "teardown", "unsafe",
        "guest_egress", "probe", "timeout", "memory", "rootless", "landlock", "none", "open", "before", "packages", "file",
        "cold"}
NEEDED = {"name", "language", "code", "defence"}
# Whether polybox finds cgroup v2 here.
UNIFIED = pathlib.Path("/sys/fs/cgroup/cgroup.controllers").exists()
# Those of Node.js and Ruby are the only ones that an interpreter which was started ahead can take over.
FILE_NAMES = {"bash": "attack.sh", "python": "attack.py", "c": "attack.c", "node": "script.js", "ruby": "main.rb"}
BARE = {"bash": ["bash"], "python": [sys.executable], "c": [], "node": ["node"], "ruby": ["ruby"]}
# How their programs find packages, for canaries.
PACKAGES_VARIABLE = {"python": "PYTHONPATH", "node": "NODE_PATH", "ruby": "RUBYLIB"}
WARM = {"python", "node", "ruby"}
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
class Grade:
    """A way to start polybox, and the isolation that must come out."""
    name: str
    command: list
    uid: int
    # Whether the interpreter has started before it gets the attack.
    warm: bool = False
    # The language of a warm program that starts the attack, which is one in bash.
    through: str = ""

    def __str__(self):
        return f"{self.name}, warm {self.through}".rstrip() if self.warm else self.name

    def run(self):
        weak = self.name in ("landlock", "none")
        return [*self.command, "run"] + ([f"--isolation={self.name}", f"--min-isolation={self.name}"] if weak else [])

    def shell(self):
        return " ".join(self.run())

    def takes(self, attack):
        """In none only what process control stops is tried: the rest would be done to this machine."""
        if self.through:
            return attack["language"] == "bash" and "before" not in attack and can_be_child(self.through, attack)
        if self.warm and attack["language"] not in WARM:
            return False
        if "before" in attack and self.name not in ("full", "rootless"):
            return False
        # They cannot give hosts to guests, and say so: grades_test.py.
        if self.name in ("landlock", "none") and "guest_egress" in attack:
            return False
        return self.name != "none" or "none" in attack

    def excuses(self, attack):
        """Whether it is stated that this attack may succeed here."""
        stated = {"rootless": {"rootless"}, "landlock": {"rootless", "landlock"}}.get(self.name, set())
        return "open" in attack or not stated.isdisjoint(attack)


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
    return clean | dict(extra)


def end_session(leader):
    """Kills what is left of a session that we started; its members are found by its number, never by name."""
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == leader:
                os.kill(int(entry.name), signal.SIGKILL)
        except (OSError, IndexError):
            continue


def execute(command, folder, extra=(), timeout=TIMEOUT):
    """Runs it with its output in files, for a pipe would wait for all who hold it."""
    with open(folder / "out", "w+b") as out, open(folder / "err", "w+b") as err:
        process = subprocess.Popen([str(part) for part in command], env=environment(folder, extra), cwd=folder / "place",
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


def can_be_child(language, attack):
    """Node.js cannot turn into another program: what it starts has it as its parent, which is no supervisor."""
    return language != "node" or "PPID" not in attack["code"]


def started_by(language, attack):
    """The attack as a program in another language that turns into it, or starts it and ends as it does."""
    code = with_files(attack)
    if language == "ruby":
        lines = f"File.write('attack.sh', <<'END_OF_ATTACK')\n{code}\nEND_OF_ATTACK\nexec('bash', 'attack.sh')\n"
    else:
        lines = (f"require('fs').writeFileSync('attack.sh', {json.dumps(code)});\n"
                 "const done = require('child_process').spawnSync('bash', ['attack.sh'], {stdio: 'inherit'});\n"
                 "if (done.signal) process.kill(process.pid, done.signal);\n"
                 "process.exitCode = done.status;\n")
    return {key: value for key, value in attack.items() if key != "files"} | {"language": language, "code": lines}


class Place:
    """A temporary directory that everyone can read: what keeps a guest out of it must be the jail, not a mode."""

    def __init__(self, attack, uid, run):
        self.attack, self.uid, self.run = attack, uid, run

    def __enter__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="polybox-attack-"))
        self.path.chmod(0o755)
        for name in ("place", "cache", "packages", "tmp", "world"):
            (self.path / name).mkdir(mode=0o755)
            os.chown(self.path / name, self.uid, -1)
        self.program = self.path / "place" / self.attack.get("file", FILE_NAMES[self.attack["language"]])
        self.session = None
        self.program.write_text(self.expand(with_files(self.attack)))
        try:
            if "setup" in self.attack:
                self.session, _ = run_script(self.expand(self.attack["setup"]), self.path)
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
        return text.replace("{tmp}", str(self.path)).replace("{run}", self.run)

    def prefix(self):
        """What starts the attack where its hosts are."""
        return world.prefix(self.path / "world") if "guest_egress" in self.attack else []

    def teardown(self):
        return run_script(self.expand(self.attack["teardown"]), self.path)[1] if "teardown" in self.attack else ""


def check_facts(facts, outcome, shown):
    for key, wanted in facts.items():
        got = outcome.get(key) if outcome else None
        if got not in (wanted if isinstance(wanted, list) else [wanted]):
            raise Failure(f"{key} is {got!r}, not {wanted!r}\n{shown}")


def expected_of(attack):
    expected = attack.get("expect", {})
    return attack.get("expect_v2", expected) if UNIFIED else expected


def attack_in_slot(grade, attack):
    """The attack in a slot that other programs had before it."""
    with Place(attack, grade.uid, grade.shell()) as place:
        result, problem = served.meet(grade, attack, place, environment(place.path, [TOKEN]))
        if problem:
            raise Failure(problem)
        seen = place.teardown()
    shown = json.dumps(result, indent=1)[-4000:].replace("\\n", "\n") + seen
    if not grade.excuses(attack) and ESCAPED in result["stdout"] + result["stderr"] + seen:
        raise Failure(f"ESCAPED\n{shown}")
    if grade.name == "full":
        check_facts(expected_of(attack), result, shown)


def attack_in(grade, attack):
    """The attack in the jail; it must fail there, and the jail must not."""
    if "before" in attack:
        return attack_in_slot(grade, attack)
    if grade.through:
        attack = started_by(grade.through, attack)
    arguments = ["--json", "--language", attack["language"]] + (["--warm"] if grade.warm else [])
    arguments += [f"--{key}={attack[key]}" for key in ("timeout", "memory") if key in attack]
    arguments += [f"--guest-egress={host}" for host in attack.get("guest_egress", [])]
    try:
        place = Place(attack, grade.uid, grade.shell()).__enter__()
    except Failure:
        # Where it is stated that the attack differs, that may be its preparations.
        if grade.name in attack:
            return
        raise
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
    if not grade.excuses(attack) and ESCAPED in done.out + done.err + seen:
        raise Failure(f"ESCAPED\n{shown}")
    if grade.name == "full":
        check_facts(expected_of(attack), document["run"], shown)


def compiled(place):
    program = place.path / "place" / "attack"
    subprocess.run(["gcc", "-std=gnu17", "-O2", "-w", "-o", program, place.program, "-pthread", "-lm"], check=True,
                   timeout=TIMEOUT, capture_output=True)
    return program


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
        program.write_text(place.expand(text))
        execute([*BARE[attack["language"]], program], place.path, extra)


def bare_packages(attack, place):
    """What its packages are in a canary: a directory, and the variable that names it."""
    for name, text in attack.get("packages", {}).items():
        file = place.path / "packages" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return [(PACKAGES_VARIABLE[attack["language"]], str(place.path / "packages"))] if "packages" in attack else []


def canary_command(attack, program):
    command = [*BARE[attack["language"]], program]
    if attack["canary"] == "namespaces":
        command = [*NAMESPACES, *command]
    return [*(HOLDER if attack["canary"] == "held" else SUPERVISOR), *command]


def try_canary(attack):
    if attack["canary"] == "together":
        attack = attack | {"code": "\n".join([*attack["before"], attack["code"]]), "before": []}
    with Place(attack, 0, RUN_BARE) as place:
        try:
            program = compiled(place) if attack["language"] == "c" else place.program
            packages = bare_packages(attack, place)
            run_before(attack, place, packages)
            leader, done = execute([*place.prefix(), *canary_command(attack, program)], place.path, [TOKEN, *packages])
            until = time.monotonic() + LAST_WORDS
            while ESCAPED not in (place.path / "out").read_text(errors="replace") and time.monotonic() < until:
                if attack.get("teardown") and ESCAPED in attack["teardown"]:
                    break
                time.sleep(0.05)
            out = (place.path / "out").read_text(errors="replace")
        finally:
            seen = place.teardown()
        end_session(leader)
    if ESCAPED not in out + seen:
        raise Failure(f"the canary did not succeed, so the attack proves nothing\n{done}\n{seen}")


def load():
    """(category, attack) of all files."""
    found = []
    for file in sorted((HERE / "cases").glob("*.toml")):
        try:
            found += [(file.stem, attack) for attack in tomllib.loads(file.read_text())["attack"]]
        except (tomllib.TOMLDecodeError, KeyError) as error:
            sys.exit(f"{file}: {error!r}")
    return found


def broken_rules(attacks):
    """What is wrong with the tables themselves."""
    broken = []
    names = collections.Counter(attack.get("name") for _, attack in attacks)
    broken += [f"the name {name!r} is there {count} times" for name, count in names.items() if count > 1]
    for category, attack in attacks:
        name = f"{category}: {attack.get('name')}"
        if attack.keys() - KEYS or NEEDED - attack.keys():
            broken.append(f"{name}: unknown keys {attack.keys() - KEYS}, missing keys {NEEDED - attack.keys()}")
        if ("canary" in attack) == ("unsafe" in attack):
            broken.append(f"{name}: needs either a canary or the reason why it would be unsafe")
        if attack.get("none", "stopped") != "stopped":
            broken.append(f"{name}: none is {attack['none']!r}; it says \"stopped\" or is left out")
        if attack.get("canary", "bare") not in ("bare", "namespaces", "held", "together"):
            broken.append(f"{name}: canary is {attack['canary']!r}")
        if ("packages" in attack or attack.get("canary") == "together") and "before" not in attack:
            broken.append(f"{name}: needs programs before it")
        if attack.get("canary") and attack.get("language") not in BARE:
            broken.append(f"{name}: no canary can be run in this language")
        if attack.get("files") and attack.get("language") not in ("bash", "python"):
            broken.append(f"{name}: only bash and python can have files")
        says = ESCAPED if "guest_egress" not in attack else "ways.attempt("
        if not any(word in attack.get(key, "") for word in (ESCAPED, says) for key in ("code", "setup", "teardown")):
            broken.append(f"{name}: nothing in it can say {ESCAPED}")
    probes = sum(attack.get("probe", False) for _, attack in attacks)
    if probes > MOST_PROBES:
        broken.append(f"{probes} probes; at most {MOST_PROBES} are allowed")
    return broken


def with_warm(grade):
    warm = dataclasses.replace(grade, warm=True)
    return [grade, warm, *(dataclasses.replace(warm, through=language) for language in ("node", "ruby"))]


def make_grades(folder, only):
    """The grades to try, or those of the name `only`, each with None or the reason why this host does not give it."""
    copy = pathlib.Path(folder) / "polybox"
    shutil.copy(BINARY, copy)
    copy.chmod(0o755)
    nobody, uid = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--", str(copy)], 65534
    if os.geteuid() != 0:
        nobody, uid = [str(copy)], os.geteuid()
    grades = with_warm(Grade("full", [str(copy)], 0)) if os.geteuid() == 0 else []
    # Landlock as an ordinary user, where guests share our uid: the harder case. None with a uid of their own, for
    # there an attack would meet the other programs of its user.
    grades += [*with_warm(Grade("rootless", nobody, uid)), Grade("landlock", nobody, uid)]
    grades += [Grade("none", [str(copy)], 0)] if os.geteuid() == 0 else []
    return [(grade, why_not(grade)) for grade in grades if only in (None, grade.name)]


def why_not(grade):
    trial = {"name": "trial", "language": "bash" if grade.through else "python", "code": "true" if grade.through else "pass"}
    try:
        attack_in(grade, trial)
    except Failure as failure:
        return str(failure)
    return None


def run_one(job):
    title, function, arguments = job
    try:
        function(*arguments)
        return title, "passed", ""
    except Skip as reason:
        return title, "skipped", str(reason)
    except Exception as failure:
        return title, "failed", str(failure) if isinstance(failure, Failure) else repr(failure)


def refuse(reason):
    raise Skip(reason)


def make_jobs(attacks, grades, canaries):
    jobs = []
    for category, attack in attacks:
        title = f"{category}: {attack['name']}"
        for grade, missing in grades:
            if not grade.takes(attack):
                continue
            missing = missing or ("guest_egress" in attack and world.why_not())
            function, arguments = (refuse, (missing,)) if missing else (attack_in, (grade, attack))
            jobs.append((f"{title} [{grade}]", function, arguments))
        if canaries and "canary" in attack:
            function, arguments = (canary_of, (attack,)) if os.geteuid() == 0 else (refuse, ("canaries need root",))
            jobs.append((f"{title} [canary]", function, arguments))
    return jobs


def print_table(attacks):
    print(f"{'category':24}{'attacks':>9}{'canaries':>10}{'unsafe':>8}{'probes':>8}"
          f"{'rootless':>10}{'landlock':>10}{'none':>6}{'open':>6}")
    rows = collections.defaultdict(lambda: [0] * 8)
    for category, attack in attacks:
        facts = (True, "canary" in attack, "unsafe" in attack, attack.get("probe", False),
                 "rootless" in attack, "landlock" in attack or "rootless" in attack, "none" in attack, "open" in attack)
        for key in (category, "all"):
            rows[key] = [count + fact for count, fact in zip(rows[key], facts)]
    for category in [*sorted(rows.keys() - {"all"}), "all"]:
        print(f"{category:24}" + "".join(f"{count:>{width}}" for count, width in zip(rows[category], (9, 10, 8, 8, 10, 10, 6, 6))))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--grade", choices=("full", "rootless", "landlock", "none"))
    parser.add_argument("--no-canaries", action="store_true")
    parser.add_argument("words", nargs="*")
    flags = parser.parse_args()
    if not BINARY.exists():
        sys.exit(f"{BINARY} is not there: run make test")
    attacks = load()
    broken = broken_rules(attacks)
    chosen = [(category, attack) for category, attack in attacks
              if NEEDED <= attack.keys() and all(word in f" {category}: {attack['name']}" for word in flags.words)]
    with tempfile.TemporaryDirectory(prefix="polybox-attacks-") as folder:
        os.chmod(folder, 0o755)
        grades = make_grades(folder, flags.grade)
        jobs = make_jobs(chosen, grades, not flags.no_canaries)
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            results = list(pool.map(run_one, jobs))
    counts = collections.Counter(outcome for _, outcome, _ in results)
    for title, outcome, text in results:
        if outcome == "failed":
            print(f"failed: {title}\n{text}\n")
    skipped = collections.Counter(text for _, outcome, text in results if outcome == "skipped")
    for reason, count in skipped.items():
        print(f"skipped: {count} because {reason}")
    for rule in broken:
        print(f"failed: {rule}")
    for category, attack in chosen:
        if "open" in attack:
            print(f"open: {category}: {attack['name']}: {attack['open']}")
    print_table(chosen)
    print(f"{counts['passed']} passed, {counts['failed'] + len(broken)} failed, {counts['skipped']} skipped")
    in_no_jail = all(missing for _, missing in grades)
    return 1 if counts["failed"] or broken or in_no_jail or not jobs else 0


if __name__ == "__main__":
    sys.exit(main())
