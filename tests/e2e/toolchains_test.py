"""Toolchains behind shims and proxies: what counts is the real executable and the directories it truly needs."""
import os
import pathlib
import shutil
import subprocess
import sys

# A version manager's shim: picks the version named in a variable or a file, as pyenv does.
SHIM = """#!/bin/sh
version=${{SAMPLE_VERSION:-$(cat {home}/version)}}
exec {home}/versions/$version/bin/python3 "$@"
"""


def system_python():
    """A real interpreter to relocate: (its binary, its library folder, the folder's name)."""
    binary = pathlib.Path(os.path.realpath("/usr/bin/python3"))
    if not binary.exists():
        raise Skip("no /usr/bin/python3 to relocate")
    library = subprocess.run([binary, "-c", "import os; print(os.path.dirname(os.__file__))"],
                             capture_output=True, text=True, check=True).stdout.strip()
    return binary, pathlib.Path(library)


def relocate_python(box, version):
    """A Python installation of its own below the box: same files, another place."""
    binary, library = system_python()
    root = box.path / "pyenv" / "versions" / version
    (root / "bin").mkdir(parents=True)
    (root / "lib").mkdir()
    shutil.copy(binary, root / "bin" / "python3")
    (root / "lib" / library.name).symlink_to(library)
    return root


def shimmed(box, *versions):
    """The roots of relocated installations behind a shim that is first on PATH."""
    roots = [relocate_python(box, version) for version in versions]
    home = box.path / "pyenv"
    box.write("pyenv/version", versions[0])
    box.write("pyenv/shims/python3", SHIM.format(home=home), 0o755)
    return roots, {"PATH": f"{home}/shims:/usr/bin:/bin", "PYENV_ROOT": str(home)}


def test_a_shim_first_on_PATH_reports_its_own_interpreter_and_root(box):
    (root,), env = shimmed(box, "one")
    python = box.languages(env=env)["python"]
    assert python["available"], python["reason"]
    assert python["root"] == str(root), python
    assert python["executable"] == str(root / "bin" / "python3"), python
    assert python["binary"] == str(box.path / "pyenv/shims/python3"), python


def test_choosing_another_version_behind_the_shim_is_noticed(box):
    (one, two), env = shimmed(box, "one", "longer-name")
    assert box.languages(env=env)["python"]["root"] == str(one)
    box.write("pyenv/version", "longer-name")
    assert box.languages(env=env)["python"]["root"] == str(two)


def test_a_shim_that_has_no_version_makes_the_language_unavailable_and_says_why(box):
    _, env = shimmed(box, "one")
    box.write("pyenv/shims/python3", "#!/bin/sh\necho 'pyenv: no such version' >&2\nexit 1\n", 0o755)
    python = box.languages(env=env)["python"]
    assert not python["available"], "another python3 later on PATH must not be taken instead"
    assert "pyenv: no such version" in python["reason"], python


def test_an_active_virtual_environment_shows_both_its_homes(box):
    binary, _ = system_python()
    venv = box.path / "venv"
    done = subprocess.run([binary, "-m", "venv", "--without-pip", venv], capture_output=True, text=True)
    if done.returncode != 0:
        raise Skip("python3-venv is not installed")
    python = box.languages(env={"PATH": f"{venv}/bin:/usr/bin:/bin"})["python"]
    assert python["available"], python["reason"]
    assert python["root"] == str(venv), python
    assert "/usr" in python["roots"], python
    assert python["executable"] == f"{venv}/bin/python3", python


def test_the_interpreter_on_PATH_of_this_machine_is_the_one_reported(box):
    found = shutil.which("python3")
    real = subprocess.run([found, "-c", "import sys; print(sys.prefix)"], capture_output=True, text=True, cwd="/",
                          check=True).stdout.strip()
    env = {key: os.environ[key] for key in ("PYENV_ROOT", "PYENV_VERSION", "HOME") if key in os.environ}
    python = box.languages(env=env)["python"]
    assert python["binary"] == found, python
    assert python["root"] == real, python


def test_rustc_behind_a_proxy_reports_the_toolchain_not_the_proxy(box):
    root = box.path / "rustup" / "toolchains" / "stable"
    # Prints what rustc prints; the proxy dispatches by name, as rustup does.
    box.write("rustup/toolchains/stable/bin/rustc",
              f'#!/bin/sh\ncase "$*" in "--print sysroot") echo {root} ;; *) echo "rustc 1.99.0" ;; esac\n', 0o755)
    box.write("cargo/bin/rustup-init", f'#!/bin/sh\nexec {root}/bin/$(basename "$0") "$@"\n', 0o755)
    (box.path / "cargo/bin/rustc").symlink_to("rustup-init")
    rust = box.languages(env={"PATH": f"{box.path}/cargo/bin:/usr/bin:/bin"})["rust"]
    assert rust["available"], rust["reason"]
    assert rust["root"] == str(root), rust
    assert rust["executable"] == f"{root}/bin/rustc", rust


def test_rustc_of_this_machine_is_found_behind_its_proxy(box):
    found = shutil.which("rustc")
    if found is None:
        raise Skip("no rustc on PATH")
    keep = {key: value for key, value in os.environ.items() if key.startswith(("RUSTUP_", "CARGO_"))}
    keep["HOME"] = os.environ.get("HOME", "/")
    real = subprocess.run([found, "--print", "sysroot"], capture_output=True, text=True, cwd="/", env=box.env(keep),
                          check=True).stdout.strip()
    rust = box.languages(env=keep)["rust"]
    if not rust["available"]:
        assert "or newer is needed" in rust["reason"], rust
        return
    assert rust["root"] == real, rust
    assert rust["executable"] == f"{real}/bin/rustc", rust


def test_a_missing_toolchain_is_unavailable_and_named_never_an_error(box):
    box.write("bin/true", "#!/bin/sh\n", 0o755)
    languages = box.languages(env={"PATH": str(box.path / "bin")})
    assert len(languages) >= 13
    for language in languages.values():
        assert not language["available"], language
        assert "not found on PATH" in language["reason"], language
    assert languages["php"]["reason"] == '"php" not found on PATH', languages["php"]
    assert "php-cli" in languages["php"]["fix"], languages["php"]


def test_doctor_fails_when_nothing_can_run(box):
    box.write("bin/true", "#!/bin/sh\n", 0o755)
    done = box.run("doctor", env={"PATH": str(box.path / "bin")})
    assert done.returncode == 1, done.stdout
    assert "Nothing can run" in done.stdout, done.stdout
    assert "cost:" in done.stdout and "fix:" in done.stdout, done.stdout
