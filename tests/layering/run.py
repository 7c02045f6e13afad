#!/usr/bin/env python3
"""Tests of the layering checker: trees that break a rule must be refused, and this repository must pass."""
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import layering  # noqa: E402

GOOD = {
    "src/base/CMakeLists.txt": "polybox_library(base\n  LINK fmt::fmt)\n",
    "src/base/text.h": "#pragma once\n",
    "src/sys/CMakeLists.txt": "# why\npolybox_library(sys\n  DEPENDS base)\n",
    "src/sys/mount.cc": '#include "sys/mount.h"\n\n#include <string>\n\n#include "base/text.h"\n',
    "src/sys/mount.h": "#pragma once\n",
}

# What is changed in the good tree, and what the checker must then say.
CASES = {
    "a good tree passes": ({}, None),
    "a header of a folder that is not listed": (
        {"src/base/text.cc": '#include "sys/mount.h"\n'}, "includes sys/, which"),
    "a test may not reach further than its line": (
        {"src/base/text_test.cc": '#include "sys/mount.h"\n'}, "includes sys/, which"),
    "a listed folder that nothing uses": ({"src/sys/mount.cc": ""}, "includes nothing of it"),
    "a listed folder that does not exist": (
        {"src/sys/CMakeLists.txt": "polybox_library(sys DEPENDS base jail)"}, "no folder of src/"),
    "a folder without a line": ({"src/jail/plan.h": ""}, "no polybox_library line"),
    "a commented-out line is no line": (
        {"src/sys/CMakeLists.txt": "# polybox_library(sys DEPENDS base)\n"}, "no polybox_library line"),
    "a library named unlike its folder": (
        {"src/sys/CMakeLists.txt": "polybox_library(system DEPENDS base)"}, "is called system"),
    "a header without its folder": (
        {"src/sys/mount.cc": '#include "mount.h"\n#include "base/text.h"\n'}, "without its folder"),
    "a cycle": (
        {"src/base/CMakeLists.txt": "polybox_library(base DEPENDS sys)",
         "src/base/text.cc": '#include "sys/mount.h"\n'}, "cycle: base -> sys -> base"),
    "a part includes what its own line lists": (
        {"src/sys/CMakeLists.txt": "polybox_library(sys DEPENDS base sys/raw)\npolybox_part(sys/raw DEPENDS base)",
         "src/sys/raw/call.cc": '#include "sys/raw/call.h"\n#include "base/text.h"\n', "src/sys/raw/call.h": "",
         "src/sys/use.cc": '#include "sys/raw/call.h"\n'}, None),
    "a part may not include its library": (
        {"src/sys/CMakeLists.txt": "polybox_library(sys DEPENDS base)\npolybox_part(sys/raw)",
         "src/sys/raw/call.cc": '#include "sys/mount.h"\n'}, "includes sys/, which the line of sys/raw does not list"),
    "a library may not include a part that it does not list": (
        {"src/sys/CMakeLists.txt": "polybox_library(sys DEPENDS base)\npolybox_part(sys/raw)",
         "src/sys/raw/call.h": "", "src/sys/use.cc": '#include "sys/raw/call.h"\n'}, "includes sys/raw/, which"),
    "a part of another library is not listed with it": (
        {"src/jail/CMakeLists.txt": "polybox_library(jail DEPENDS sys)\npolybox_part(jail/raw)", "src/jail/raw/call.h": "",
         "src/jail/plan.cc": '#include "sys/mount.h"\n', "src/exec/CMakeLists.txt": "polybox_library(exec DEPENDS jail)",
         "src/exec/use.cc": '#include "jail/raw/call.h"\n'}, "includes jail/raw/, which"),
    "a part without a folder": (
        {"src/sys/CMakeLists.txt": "polybox_library(sys DEPENDS base)\npolybox_part(sys/raw)"}, "there is no such folder"),
    "an include with spaces around the hash": (
        {"src/base/text.cc": '  #  include "sys/mount.h"\n'}, "includes sys/, which"),
}


def problems_of(changes):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in (GOOD | changes).items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return layering.check(root)


def main():
    passed = failed = 0
    for name, (changes, wanted) in CASES.items():
        problems = problems_of(changes)
        good = not problems if wanted is None else any(wanted in problem for problem in problems)
        passed, failed = passed + good, failed + (not good)
        if not good:
            print(f"failed: {name}: {problems}")
    ours = layering.check(ROOT)
    passed, failed = passed + (not ours), failed + bool(ours)
    for problem in ours:
        print(problem)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
