"""tools/waits.py must refuse tests that sleep for a fixed time, and must pass what only looks like that."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import waits  # noqa: E402

CPP = "src/sys/x_test.cc"
PYTHON = "tests/e2e/x_test.py"
TOML = "tests/attacks/cases/x.toml"
SHELL = "tests/x/run"

# What a file holds, and the lines of it that must be refused.
CASES = {
    "a wait in C++": (CPP, "TEST(A, B) {\n  std::this_thread::sleep_for(kTime);\n}\n", [2]),
    "a wait until a point in time": (CPP, "  std::this_thread::sleep_until(due);\n", [1]),
    "a call of the C library": (CPP, "  usleep(100);\n  ::sleep(1);\n", [1, 2]),
    "polling": (CPP, "  while (!done) {\n    if (x) {\n      std::this_thread::sleep_for(kTime);\n    }\n  }\n", []),
    "polling on one line": (CPP, "  while (!done) std::this_thread::sleep_for(kTime);\n", []),
    "a wait behind a loop": (CPP, "  for (;;) {\n    F();\n  }\n  std::this_thread::sleep_for(kTime);\n", [4]),
    "a wait in a block behind a loop": (CPP, "  for (;;) {\n    F();\n  }\n  if (x) {\n    usleep(1);\n  }\n", [5]),
    "polling of bounded length": (CPP, "  for (int i = 0; i < 9 && !Done(); ++i) {\n    usleep(1);\n  }\n", []),
    "polling that breaks": (CPP, "  for (int i = 0; i < 9; ++i) {\n    if (Done()) break;\n    usleep(1);\n  }\n", []),
    "an endless loop that returns": (CPP, "  while (true) {\n    if (Done()) return;\n    usleep(1);\n  }\n", []),
    "a count in C++": (CPP, "  for (int i = 0; i < 9; ++i) {\n    usleep(1);\n  }\n", [2]),
    "a count that jumps elsewhere": (CPP, "  for (int i = 0; i < 9; ++i) {\n    usleep(1);\n  }\n  if (x) return;\n", [2]),
    "an endless loop": (CPP, "  while (true) {\n    usleep(1);\n  }\n", [2]),
    "a reason on the line above": (CPP, "  // sleeps: the subject of the test.\n  usleep(100);\n", []),
    "a reason two lines above": (CPP, "  // sleeps: the subject.\n  F();\n  usleep(100);\n", [3]),
    "a program in a string": (CPP, '  Shell("sleep 30");\n', []),
    "no test": ("src/sys/x.cc", "  usleep(100);\n", []),
    "a header for tests": ("src/sys/testing/x.h", "  usleep(100);\n", [1]),
    "a wait in Python": (PYTHON, "import time\ndef f():\n    time.sleep(1)\n", [3]),
    "polling in Python": (PYTHON, "while not g():\n    if x:\n        time.sleep(0.1)\n", []),
    "a count in Python": (PYTHON, "for i in range(3):\n    time.sleep(1)\n", [2]),
    "a count in Python that breaks": (PYTHON, "for i in range(3):\n    if g():\n        break\n    time.sleep(1)\n", []),
    "an endless loop in Python": (PYTHON, "while True:\n    time.sleep(1)\n", [2]),
    "a program in Python": (PYTHON, 'CODE = """\nimport time\ntime.sleep(9)\n"""\n', []),
    "a reason in Python": (PYTHON, "time.sleep(1)  # sleeps: the clock must tick\n", []),
    "a wait in a setup": (TOML, "[[attack]]\nsetup = '''\nx &\necho $!; sleep 0.5\n'''\n", [4]),
    "a wait in a short teardown": (TOML, '[[attack]]\nteardown = "sleep 1; kill x"\n', [2]),
    "polling in a setup": (TOML, '[[attack]]\nsetup = "for i in 1 2; do [ -e x ] && exit; sleep 0.1; done"\n', []),
    "a count in a setup": (TOML, '[[attack]]\nsetup = "for i in 1 2; do touch x; sleep 0.1; done"\n', [2]),
    "a victim in a setup": (TOML, '[[attack]]\nsetup = "sleep 60 > /dev/null & echo $!"\n', []),
    "a program of a guest": (TOML, "[[attack]]\ncode = '''\nsleep 3\n'''\n", []),
    "a reason in a teardown": (TOML, "[[attack]]\nteardown = '''\n# sleeps: why\nsleep 1\n'''\n", []),
    "a wait in a script": (SHELL, "#!/usr/bin/env bash\nstart\n  sleep 1\n", [3]),
    "a count in a script": (SHELL, "#!/usr/bin/env bash\nfor i in 1 2; do\n  sleep 1\ndone\n", [3]),
    "polling in a script": (SHELL, "#!/usr/bin/env bash\nwhile x; do\n  sleep 1\ndone\n", []),
}


def test_a_fixed_wait_is_refused_and_nothing_else(box):
    for name, (path, text, lines) in CASES.items():
        root = box.path / name.replace(" ", "-")
        file = root / path
        file.parent.mkdir(parents=True)
        file.write_text(text)
        assert [int(problem.split(":")[1]) for problem in waits.check(root)] == lines, name


def test_no_test_of_polybox_waits_a_fixed_time(box):
    assert waits.check(ROOT) == []
