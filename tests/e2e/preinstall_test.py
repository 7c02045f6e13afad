"""polybox preinstall: where its installers run."""
import os

LANGUAGE = """
id = "probe"
name = "Probe"
extensions = [".probe"]
[toolchain]
binaries = ["bash"]
version = ["{executable}", "--version"]
[entry]
file = "script.probe"
[run]
command = ["{executable}", "{entry}"]
[run.limits]
address_space = "512MiB"
open_files = 64
processes = 32
[packages]
installer = "probe"
binaries = ["sh"]
# What it sees of the host goes into the set.
install = ["sh", "-c", '''
mkdir -p "$0" && cd "$0" && echo "$@" > packages && (ls -d MARK || true) > seen 2>&1 && cat /proc/net/dev > network
''', "{target}", "{requirements}"]
preinstalled = ["one@1", "two@2"]
[image]
apt = ["bash"]
"""


def preinstall(box, *args):
    mark = box.write("mark/file", "of the host")
    box.write("languages/probe.toml", LANGUAGE.replace("MARK", str(mark)))
    done = box.run("preinstall", "probe", "--languages-dir", box.path / "languages", *args)
    assert done.returncode == 0, done.stderr + done.stdout
    assert done.stdout == "probe: one@1 two@2 (installed)\n", done.stdout
    made = box.path / "packages" / "probe"
    assert (made / "packages").read_text() == "one@1 two@2\n"
    return done, made, str(mark)


def test_installers_of_preinstalled_packages_run_in_a_jail(box):
    if os.geteuid() != 0:
        raise Skip("a jail with a network of its own needs root here")
    done, made, mark = preinstall(box)
    assert "without a jail" not in done.stderr, done.stderr
    assert "No such file" in (made / "seen").read_text(), "it sees the host"
    interfaces = [line.split(":")[0].strip() for line in (made / "network").read_text().splitlines()[2:]]
    assert interfaces == ["lo"], interfaces
    assert (made / "packages").stat().st_mode & 0o222 == 0


def test_without_a_jail_installers_run_as_we_do_and_that_is_said(box):
    done, made, mark = preinstall(box, "--unjailed")
    assert (made / "seen").read_text() == mark + "\n"
    again = box.run("preinstall", "probe", "--languages-dir", box.path / "languages")
    assert again.stdout == "probe: one@1 two@2 (already there)\n", again.stdout


def test_where_the_grade_gives_no_network_installers_run_without_a_jail_and_that_is_said(box):
    done, made, mark = preinstall(box, "--isolation=none", "--min-isolation=none")
    assert "installers run without a jail" in done.stderr, done.stderr
    assert "the isolation grade none has no network for installers" in done.stderr, done.stderr
    assert (made / "seen").read_text() == mark + "\n"


def test_an_installer_that_takes_longer_than_its_limit_says_what_allows_more(box):
    slow = LANGUAGE[:LANGUAGE.index("install = [")] + 'install = ["sh", "-c", "exec sleep 600", "{target}", "{requirements}"]\n' \
        + LANGUAGE[LANGUAGE.index("preinstalled ="):].replace("[image]", '[packages.limits]\nwall_time = "1s"\n[image]')
    box.write("languages/probe.toml", slow)
    for args in ([], ["--unjailed"]):
        if not args and os.geteuid() != 0:
            continue
        done = box.run("preinstall", "probe", "--languages-dir", box.path / "languages", *args)
        assert done.returncode == 1 and done.stderr.rstrip().endswith(
            "polybox: the installation took longer than 1s; wall_time in [packages.limits] of the language's file allows "
            "more"), (args, done)
        assert not (box.path / "packages" / "probe").exists()


def test_a_relative_packages_dir_is_the_one_below_where_we_stand(box):
    for args in ([], ["--unjailed"]):
        if not args and os.geteuid() != 0:
            continue
        box.write("languages/probe.toml", LANGUAGE.replace("MARK", "/none").replace("one@1", f"one@{len(args)}"))
        box.write("here/file", "")
        done = box.run("preinstall", "probe", "--languages-dir", box.path / "languages", "--packages-dir", "sets", *args,
                       cwd=box.path / "here")
        assert done.returncode == 0, done.stderr
        assert (box.path / "here/sets/probe/packages").read_text() == f"one@{len(args)} two@2\n"


def test_all_that_a_failed_installer_said_is_shown(box):
    text = LANGUAGE.replace('mkdir -p "$0" && ', "echo 'the cause' >&2; echo 'see the log' >&2; exit 3; ")
    box.write("languages/probe.toml", text)
    for args, reason in (([], "exit status 3"), (["--unjailed"], "exit code 3")):
        if not args and os.geteuid() != 0:
            continue
        done = box.run("preinstall", "probe", "--languages-dir", box.path / "languages", *args)
        assert done.returncode == 1, done
        assert done.stderr.strip() == f"probe: probe failed: {reason}: the cause\nsee the log", done.stderr
