"""tools/deep_page.py writes a row for each suite of make test-deep, and keeps the rows of suites that did not run."""
import shutil
import subprocess
import sys


def make(box):
    """A repository with the tool, a page and one commit, whose name is returned."""
    root = box.path / "tree"
    for folder in ("tools", "docs", "build/results"):
        (root / folder).mkdir(parents=True)
    shutil.copy(box.root / "tools" / "deep_page.py", root / "tools")
    box.write("tree/docs/deep-tests.md", "# Deep tests\n\n| suite | passed |\n|---|---:|\n"
              "| cgroup2 | 7 | 0 | 1 | 90 | 0123456789 | 2026-01-02 | 6.1 | 2 |\n"
              "| browser | 5 | 5 | 0 | 9 | 0123456789 | 2026-01-02 | 6.1 | 2 |\n")
    box.write("tree/.gitignore", "build/\n")
    for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "first"]):
        subprocess.run(["git", *words], cwd=root, check=True, env=box.env())
    return root, subprocess.run(["git", "rev-parse", "--short=10", "HEAD"], cwd=root, check=True, env=box.env(),
                                capture_output=True, text=True).stdout.strip()


def rows(box, root, *suites):
    subprocess.run([sys.executable, root / "tools" / "deep_page.py", *suites], env=box.env(), check=True)
    page = (root / "docs" / "deep-tests.md").read_text()
    assert page.startswith("# Deep tests\n") and page.count("| suite |") == 1, page
    lines = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")][1:]
    return {cells[0]: cells[1:] for cells in lines}


def test_a_suite_that_ran_has_a_new_row_and_the_others_keep_theirs(box):
    root, commit = make(box)
    box.write("tree/build/results/browser", "6 0 2 11\n")
    page = rows(box, root, "browser")
    assert list(page) == ["browser", "cgroup2"], page
    assert page["browser"][:5] == ["6", "0", "2", "11", commit], page
    assert page["cgroup2"] == ["7", "0", "1", "90", "0123456789", "2026-01-02", "6.1", "2"], page


def test_a_row_says_whether_the_sources_had_changes(box):
    root, commit = make(box)
    box.write("tree/build/results/browser", "6 0 2 11\n")
    rows(box, root, "browser")
    assert rows(box, root, "browser")["browser"][4] == commit, "the page itself is no change"
    box.write("tree/source.cc", "new\n")
    assert rows(box, root, "browser")["browser"][4] == commit + " with changes"
