#!/usr/bin/env python3
"""Checks that each folder of src/ includes only the folders that its dependency line names.

The lines are the calls polybox_library(NAME DEPENDS ...) and polybox_part(PART DEPENDS ...) in src/*/CMakeLists.txt. A
part is a folder below a library's, such as jail/init, or a folder that is no library. Reported are: a header of a folder
that is not named, a folder that is named and not used, a cycle, a folder without a line, and a header of the form "x.h"
that leaves the reader guessing which folder it is in. Tests and what is in testing/ may include the parts of their
library. Usage: layering.py [ROOT]
"""
import pathlib
import re
import sys

CALL = re.compile(r"polybox_(library|part)\(\s*([a-z_/]+)([^)]*)\)", re.S)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
KEYWORDS = {"FOLDERS", "DEPENDS", "LINK", "TEST_DEPENDS"}


def parse_lines(text):
    """The dependency lines of one CMakeLists.txt: {name: {keyword: [words]}}."""
    lines = {}
    for _, name, rest in CALL.findall(re.sub(r"#[^\n]*", "", text)):
        lists, current = {keyword: [] for keyword in KEYWORDS}, None
        for word in rest.split():
            if word in KEYWORDS:
                current = word
            elif current:
                lists[current].append(word)
        lines[name] = lists
    return lines


def place_of(path, lines):
    """The part or library that a path below src/ belongs to: the longest name that begins it. A path in none is its
    first folder's."""
    folders = path.split("/")[:-1]
    for length in range(len(folders), 0, -1):
        name = "/".join(folders[:length])
        if name in lines:
            return name
    return folders[0] if folders else None


def check_source(root, source, lines, used):
    """The problems of one source. What it includes goes to `used`, by the place that the source is in."""
    path = source.relative_to(root / "src").as_posix()
    place = place_of(path, lines)
    lists = lines[place]
    is_test = source.name.endswith("_test.cc") or "testing" in source.parts
    allowed = {place, *lists["DEPENDS"], *(lists["TEST_DEPENDS"] if is_test else [])}
    problems = []
    for header in INCLUDE.findall(source.read_text()):
        included = place_of(header, lines)
        if included is None:
            problems.append(f'{source}: includes a header without its folder ("folder/name.h")')
        elif included in allowed or (is_test and included.split("/")[0] == place.split("/")[0]):
            used.setdefault(place, set()).add(included)
        else:
            problems.append(f"{source}: includes {included}/, which the line of {place} does not list")
    return problems


def check_lists(name, lists, known, used):
    problems = []
    for listed in lists["DEPENDS"] + lists["TEST_DEPENDS"]:
        if listed not in known:
            problems.append(f"src/{name}: depends on {listed}, which is no folder of src/")
        elif listed not in used.get(name, ()):
            problems.append(f"src/{name}: depends on {listed} and includes nothing of it")
    return problems


def find_cycle(depends):
    """The first cycle as a list of names, or None."""
    done = set()

    def visit(name, path):
        if name in path:
            return path[path.index(name):] + [name]
        if name in done:
            return None
        done.add(name)
        for other in depends.get(name, []):
            cycle = visit(other, path + [name])
            if cycle:
                return cycle
        return None

    for name in sorted(depends):
        cycle = visit(name, [])
        if cycle:
            return cycle
    return None


def are_built_together(name, other):
    """A library and its own parts are built together."""
    return name.split("/")[0] == other.split("/")[0]


def check(root):
    """All problems of the tree below `root`, one line each."""
    folders = sorted(path for path in (root / "src").iterdir() if path.is_dir())
    problems, lines, used = [], {}, {}
    for folder in folders:
        file = folder / "CMakeLists.txt"
        found = parse_lines(file.read_text()) if file.exists() else {}
        if not found:
            problems.append(f"{file}: no polybox_library line")
        for name in found:
            if name.split("/")[0] != folder.name:
                problems.append(f"{file}: the library is called {name}, its folder {folder.name}")
        lines |= found
    for folder in folders:
        for source in sorted([*folder.rglob("*.cc"), *folder.rglob("*.h")]):
            if folder.name in lines:
                problems += check_source(root, source, lines, used)
    for name, lists in lines.items():
        if (root / "src" / name).is_dir():
            problems += check_lists(name, lists, lines.keys(), used)
        elif name.split("/")[0] in {folder.name for folder in folders}:
            problems.append(f"src/{name}: there is no such folder")
    cycle = find_cycle({name: [other for other in lists["DEPENDS"] if not are_built_together(name, other)]
                        for name, lists in lines.items()})
    if cycle:
        problems.append("cycle: " + " -> ".join(cycle))
    return problems


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    problems = check(root)
    for problem in problems:
        print(problem)
    print(f"layering: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
