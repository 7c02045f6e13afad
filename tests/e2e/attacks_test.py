"""The runner of the attacks refuses attacks that prove nothing."""
import os
import re
import subprocess
import sys
import tomllib

import serving

RUNNER = serving.ROOT / "tests" / "attacks" / "run.py"
TIMEOUT = 120
HEADER = """
[[attack]]
name = "{name}"
language = "{language}"
defence = "none"
unsafe = "It does nothing."
{keys}
code = '''
{code}
'''
"""


def run(box, name, language, code, keys=""):
    """What the runner says of one attack, and whether it passed."""
    table = HEADER.replace("{name}", name).replace("{language}", language).replace("{keys}", keys).replace("{code}", code)
    box.write(f"cases-{name}/made.toml", table)
    grade = "full" if os.geteuid() == 0 else "rootless"
    done = subprocess.run([sys.executable, RUNNER, "--grade", grade, "--no-canaries", "--cases", box.path / f"cases-{name}"],
                          env=os.environ | {"POLYBOX": str(box.binary)}, capture_output=True, text=True, timeout=TIMEOUT)
    return done.stdout, done.returncode == 0


def test_an_attack_that_prints_its_marker_passes(box):
    said, passed = run(box, "honest", "python", "reached()\nif False: print('ESCAPED')")
    assert passed, said


def test_an_attack_without_a_marker_breaks_the_rules_of_the_tables(box):
    said, passed = run(box, "plain", "python", "if False: print('ESCAPED')")
    assert not passed and "made: plain: prints no marker before its decisive step" in said, said


def test_an_attack_that_ends_before_its_decisive_step_fails(box):
    said, passed = run(box, "early", "python", "raise OSError\nreached()\nprint('ESCAPED')")
    assert not passed and "the attack did not print its marker: code" in said, said


def test_a_quoted_line_of_the_program_is_no_marker(box):
    """Python and bash quote the line in which a program fails."""
    said, passed = run(box, "quoted", "python", "reached(1)\nprint('ESCAPED')")
    assert not passed and "the attack did not print its marker: code" in said, said


def test_an_attack_that_does_not_compile_fails(box):
    said, passed = run(box, "syntax", "c", "int main(void) { reached(); return puts(\"ESCAPED\") }")
    assert not passed and "the attack was not compiled" in said, said


def test_a_statement_that_an_attack_stops_early_must_be_true(box):
    stated = 'unreached = { full = "it stops", rootless = "it stops" }'
    said, passed = run(box, "stated", "python", "reached()\nif False: print('ESCAPED')", stated)
    assert not passed and "though `unreached` says that it does not" in said, said
    said, passed = run(box, "stops", "python", "raise OSError\nreached()\nprint('ESCAPED')", stated)
    assert passed, said


def test_a_marker_that_only_the_second_program_has_must_come_from_it(box):
    keys = "teardown = '''\nprintf '%s\\n' 'true' '{reached.bash}' > {tmp}/second.sh\n{run} {tmp}/second.sh\n: ESCAPED\n'''"
    said, passed = run(box, "second", "bash", "true", keys)
    assert not passed and "the attack did not print its marker: second" in said, said


COMPANION = """setup = '''
cat > {tmp}/beside.sh <<'END'
LINES
END
{run} {tmp}/beside.sh > {tmp}/said 2>&1 || true
'''"""


def test_a_program_that_is_started_beside_the_attack_must_come_to_its_decisive_step_too(box):
    code = "reached\n: ESCAPED"
    said, passed = run(box, "beside", "bash", code, COMPANION.replace("LINES", "{reached.bash}\nreached"))
    assert passed, said
    said, passed = run(box, "fails", "bash", code, COMPANION.replace("LINES", "{reached.bash}\nexit 1\nreached"))
    assert not passed and "the attack did not print its marker: second" in said, said


def test_a_program_beside_the_attack_without_a_marker_breaks_the_rules_of_the_tables(box):
    said, passed = run(box, "silent", "bash", "reached\n: ESCAPED", COMPANION.replace("LINES", "true"))
    assert not passed and "made: silent: the program that {run} starts prints no marker" in said, said


def test_the_specification_counts_the_attacks_which_are_at_least_450(box):
    attacks = [attack for file in (RUNNER.parent / "cases").glob("*.toml") for attack in tomllib.loads(file.read_text())["attack"]]
    counts = re.search(r"(\d+) attacks, (\d+) canaries", (serving.ROOT / "SPECIFICATION.md").read_text())
    canaries = sum("canary" in attack for attack in attacks)
    assert (int(counts[1]), int(counts[2])) == (len(attacks), canaries), f"there are {len(attacks)} attacks, {canaries} canaries"
    assert len(attacks) >= 450, len(attacks)
