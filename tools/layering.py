#!/usr/bin/env python3
"""Checks that each library includes only the folders that its dependency line names.

The lines are the polybox_library(NAME DEPENDS ...) calls of src/*/CMakeLists.txt. Reported are: a header of a
folder that is not named, a folder that is named and not used, a cycle, a folder without a line, and a header of
the form "x.h" that leaves the reader guessing which folder it is in. Usage: layering.py [ROOT]
"""
import pathlib
import re
import sys

CALL = re.compile(r"polybox_library\(\s*([a-z_]+)([^)]*)\)", re.S)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
KEYWORDS = {"FOLDERS", "DEPENDS", "LINK", "TEST_DEPENDS"}


def parse_line(text):
    """The dependency line of one CMakeLists.txt: (name, {keyword: [words]}), or None."""
    call = CALL.search(re.sub(r"#[^\n]*", "", text))
    if not call:
        return None
    lists, current = {keyword: [] for keyword in KEYWORDS}, None
    for word in call.group(2).split():
        if word in KEYWORDS:
            current = word
        elif current:
            lists[current].append(word)
    return call.group(1), lists


def included_folders(path):
    """The folders of the project headers a source includes; None stands for a header without a folder."""
    return [name.split("/")[0] if "/" in name else None for name in INCLUDE.findall(path.read_text())]


def check_folder(folder, name, lists, known):
    problems, used = [], set()
    if name != folder.name:
        problems.append(f"{folder}/CMakeLists.txt: the library is called {name}, its folder {folder.name}")
    for source in sorted([*folder.rglob("*.cc"), *folder.rglob("*.h")]):
        is_test = source.name.endswith("_test.cc") or "testing" in source.parts
        allowed = {folder.name, *lists["DEPENDS"], *(lists["TEST_DEPENDS"] if is_test else [])}
        for included in included_folders(source):
            if included is None:
                problems.append(f'{source}: includes a header without its folder ("folder/name.h")')
            elif included not in allowed:
                problems.append(f"{source}: includes {included}/, which {folder}/CMakeLists.txt does not list")
            else:
                used.add(included)
    for listed in lists["DEPENDS"] + lists["TEST_DEPENDS"]:
        if listed not in known:
            problems.append(f"{folder}/CMakeLists.txt: depends on {listed}, which is no folder of src/")
        elif listed not in used:
            problems.append(f"{folder}/CMakeLists.txt: depends on {listed} and includes nothing of it")
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


def check(root):
    """All problems of the tree below `root`, one line each."""
    folders = sorted(path for path in (root / "src").iterdir() if path.is_dir())
    problems, lines = [], {}
    for folder in folders:
        file = folder / "CMakeLists.txt"
        line = parse_line(file.read_text()) if file.exists() else None
        if line is None:
            problems.append(f"{file}: no polybox_library line")
        else:
            lines[folder] = line
    known = {folder.name for folder in folders}
    for folder, (name, lists) in lines.items():
        problems += check_folder(folder, name, lists, known)
    cycle = find_cycle({folder.name: lists["DEPENDS"] for folder, (_, lists) in lines.items()})
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
