#!/usr/bin/env python3
"""Refuses a test that sleeps for a fixed time, since such a test is slow on a fast machine and fails on a slow one.

A sleep inside a loop that tests a condition is the interval of polling, and allowed: a `while` or an `until` whose condition
is not constant, a `for` of C++ with a condition beside its count, or any loop that an `if` inside leaves by `break`, `return`, `exit` or an exception. A loop that only counts
is a fixed wait. Any other sleep needs the word `sleeps:` with its reason in a comment on its line or on the line above. Looked at are the C++ tests and what is in testing/, the Python and shell files
below tests/, and the shell text of `setup` and `teardown` in tests/**/*.toml. Programs that tests give to polybox are not
looked at: to sleep is what they are for. Usage: waits.py [ROOT]
"""
import ast
import pathlib
import re
import sys
import tomllib

MARK = "sleeps:"
CPP_SLEEP = re.compile(r"\bsleep_(?:for|until)\(|(?<![\w.])(?:::)?(?:u|nano|clock_nano)?sleep\(")
# A wait of the shell itself, not one that runs in the background or in place of the shell.
SHELL_SLEEP = re.compile(r"(?:^|[;&|]|\bdo\b|\bthen\b)\s*sleep [^&|]*?(?:;|&&|\|\||$)")
LOOP = re.compile(r"\b(?:for|while|until|do)\b")
# A condition that is always true. The loop then needs a way out.
ENDLESS = re.compile(r"\bwhile\s*\(?\s*(?:true|1|:)\s*[);]")
# A `for` of C++ tests a condition when its middle part has more than a comparison.
TESTS = re.compile(r"\b(?:while|until)\b|\bfor \([^;]*;[^;]*(?:&&|!\w)")
# What leaves a loop, behind a condition on its line or the line above.
LEAVES = re.compile(r"\b(?:break|return|throw|raise|exit)\b")
CONDITION = re.compile(r"\b(?:if|case)\b|&&|\|\|")
SHELL_BLOCKS = ("setup", "teardown")
# Folders with programs that tests give to polybox.
GUESTS = "limits"


def is_excused(lines, at):
    return MARK in lines[at] or (at > 0 and MARK in lines[at - 1])


def depth_of(line):
    return len(line) - len(line.lstrip())


def body_of(lines, at):
    """The lines of the loop that begins at a line: those that are indented deeper, and what follows on its own line."""
    body = [LOOP.split(lines[at], maxsplit=1)[1]]
    for line in lines[at + 1:]:
        if line.strip() and depth_of(line) <= depth_of(lines[at]):
            break
        body.append(line)
    return body


def tests_condition(lines, at):
    """Whether the loop that begins at this line ends when a condition holds."""
    if TESTS.search(lines[at]) and not ENDLESS.search(lines[at]):
        return True
    body = body_of(lines, at)
    return any(LEAVES.search(line) and (CONDITION.search(line) or CONDITION.search(body[max(0, number - 1)]))
               for number, line in enumerate(body))


def is_polling(lines, at):
    """Whether the line, or one that it is indented below, begins a loop that tests a condition. A function begins where
    nothing is indented."""
    if LOOP.search(lines[at]):
        return tests_condition(lines, at)
    indent = depth_of(lines[at])
    for number in range(at - 1, -1, -1):
        line = lines[number]
        if line.strip() and depth_of(line) < indent:
            if LOOP.match(line.strip()) and tests_condition(lines, number):
                return True
            indent = depth_of(line)
    return False


def find_in_text(text, pattern, comment):
    """The lines (from 0) that match outside of polling loops and have no reason."""
    lines = text.split("\n")
    return [at for at, line in enumerate(lines)
            if pattern.search(line.split(comment)[0]) and not is_polling(lines, at) and not is_excused(lines, at)]


def is_polling_in_python(loop):
    """Whether a loop of Python tests a condition: its own, or one that leaves the loop or the function."""
    if isinstance(loop, ast.While) and not isinstance(loop.test, ast.Constant):
        return True
    if not isinstance(loop, (ast.For, ast.While, ast.AsyncFor)):
        return False
    leaving = (ast.Break, ast.Return, ast.Raise)
    return any(isinstance(inner, leaving) for node in ast.walk(loop) if isinstance(node, (ast.If, ast.Try, ast.Match))
               for inner in ast.walk(node))


def find_in_python(text):
    lines, found = text.split("\n"), []

    def visit(node, polls):
        if isinstance(node, ast.Call) and not polls:
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name == "sleep" and not is_excused(lines, node.lineno - 1):
                found.append(node.lineno - 1)
        for child in ast.iter_child_nodes(node):
            visit(child, polls or is_polling_in_python(node))

    visit(ast.parse(text), False)
    return found


def find_in_toml(text):
    """Looks for the lines of setups and teardowns in the file, since the reader of TOML knows no line numbers."""
    lines, found = text.split("\n"), []
    for table in sum((value for value in tomllib.loads(text).values() if isinstance(value, list)), []):
        for key in SHELL_BLOCKS if isinstance(table, dict) else ():
            block = table.get(key, "").split("\n")
            for at in find_in_text("\n".join(block), SHELL_SLEEP, " #"):
                found += [number for number, line in enumerate(lines) if block[at] in line and
                          not is_excused(lines, number)][:1]
    return found


def finder_of(path, root):
    """The function that knows this kind of file; None for a file that is not looked at."""
    name, folders = path.name, path.relative_to(root).parts[:-1]
    if not ("tests" in folders or "testing" in folders or name.endswith("_test.cc")) or GUESTS in folders:
        return None
    if name.endswith((".cc", ".h")):
        return lambda text: find_in_text(text, CPP_SLEEP, "//")
    if name.endswith(".toml"):
        return find_in_toml
    with open(path, "rb") as file:
        first = file.readline(80)
    if name.endswith(".py") or b"python" in first:
        return find_in_python
    return (lambda text: find_in_text(text, SHELL_SLEEP, " #")) if b"bash" in first else None


def check(root):
    """All problems of the tree below `root`, one line each."""
    problems = []
    for path in sorted(file for folder in ("src", "tests") for file in (root / folder).rglob("*") if file.is_file()):
        finder = finder_of(path, root)
        for at in finder(path.read_text()) if finder else ():
            problems.append(f"{path}:{at + 1}: waits a fixed time; wait for the condition, or say why after `{MARK}`")
    return problems


def main():
    problems = check(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent))
    print("\n".join([*problems, f"waits: {len(problems)} without a reason"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
