"""The tables of cases/*.toml: how they are read, which rules they keep, and their numbers."""
import collections
import sys
import tomllib

import marker

MOST_PROBES = 60
ESCAPED = "ESCAPED"
GRADES = ("full", "rootless", "landlock", "none")
KEYS = {"name", "language", "code", "files", "defence", "expect", "expect_v2", "canary", "setup", "teardown", "unsafe",
        "guest_egress", "probe", "timeout", "memory", "rootless", "landlock", "none", "open", "before", "packages", "file",
        "cold", "unreached", "uncompiled", "root", "base_dir", "client", "no_workspace"}
# Keys of attacks that need a server.
SERVED = {"before", "base_dir"}
NEEDED = {"name", "language", "code", "defence"}
# Those of Node.js and Ruby are the only ones that an interpreter which was started ahead can take over.
FILE_NAMES = {"bash": "attack.sh", "python": "attack.py", "c": "attack.c", "node": "script.js", "ruby": "main.rb",
              "perl": "main.pl", "php": "main.php", "lua": "main.lua", "java": "Main.java", "go": "script.go"}
# What runs their programs without polybox; those of C and Go are compiled before.
BARE = {"bash": ["bash"], "python": [sys.executable], "c": [], "node": ["node"], "ruby": ["ruby"], "perl": ["perl"],
        "php": ["php"], "lua": ["lua5.1"], "java": ["java"], "go": []}


def load(folder):
    """(category, attack) of all files of a directory."""
    found = []
    for file in sorted(folder.glob("*.toml")):
        try:
            table = tomllib.loads(file.read_text())
            # A reason before the first attack holds for all of the file.
            common = {key: table[key] for key in ("no_workspace",) if key in table}
            found += [(file.stem, common | attack) for attack in table["attack"]]
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
        if not marker.needed(attack | {"code": attack.get("code", "")}):
            broken.append(f"{name}: prints no marker before its decisive step")
        if marker.has_silent_companion(attack):
            broken.append(f"{name}: the program that {{run}} starts prints no marker: give it {{reached.bash}} or {{reached.python}}")
        for key in ("unreached", "uncompiled"):
            stated = attack.get(key, {})
            if not isinstance(stated, str) and ({grade.partition(",")[0] for grade in stated} - set(GRADES) or not all(stated.values())):
                broken.append(f"{name}: {key} names grades and reasons, not {stated}")
        if not attack.get("no_workspace", "it has one") or not SERVED.isdisjoint(attack) and "no_workspace" not in attack:
            broken.append(f"{name}: no_workspace needs a reason, and so does an attack on a server that is not tried in a workspace")
        if "client" in attack and "base_dir" not in attack or "base_dir" in attack and attack.get("language") not in ("bash", "python"):
            broken.append(f"{name}: a client needs base_dir, and base_dir a program in bash or python")
        if attack.get("files") and attack.get("language") not in ("bash", "python"):
            broken.append(f"{name}: only bash and python can have files")
        says = ESCAPED if "guest_egress" not in attack else "ways.attempt("
        if not any(word in attack.get(key, "") for word in (ESCAPED, says) for key in ("code", "setup", "teardown", "client")):
            broken.append(f"{name}: nothing in it can say {ESCAPED}")
    probes = sum(attack.get("probe", False) for _, attack in attacks)
    if probes > MOST_PROBES:
        broken.append(f"{probes} probes; at most {MOST_PROBES} are allowed")
    return broken


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
