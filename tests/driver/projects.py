"""Copies of the projects in tests/verify/projects, for tests that check them with polybox."""
import contextlib
import fcntl
import hashlib
import os
import pathlib
import shutil

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "tests/verify"
# Linters and test runners that tools/setup verify-tools installs.
TOOLS = ROOT / "build/tools/bin"
# Commands do not run for root.
ORDINARY = 1000


def search_path():
    return f"{TOOLS}:{os.environ['PATH']}"


def variables():
    """What finds the tools and the toolchains of this machine."""
    kept = {key: os.environ[key] for key in ("HOME", "PYENV_ROOT", "RUSTUP_HOME") if key in os.environ}
    return kept | {"PATH": search_path()}


def missing(programs):
    """The first of the programs that is not here; None if all are."""
    return next((each for each in programs if shutil.which(each, path=search_path()) is None), None)


def give_away(directory):
    """The tree belongs to an ordinary user, as a project of a person does."""
    directory.chmod(0o755)
    if os.geteuid() != 0:
        return
    for path in [directory, *directory.rglob("*")]:
        os.chown(path, ORDINARY, ORDINARY, follow_symlinks=False)


@contextlib.contextmanager
def workspace():
    """An empty directory, and the directory for the caches of polybox. It is the same in each test, one after the other, so
    that what build tools keep in the home of its commands is used again. A jail has a /tmp of its own, so the
    workspace is elsewhere."""
    place = hashlib.sha256(str(ROOT).encode()).hexdigest()[:12]
    base = pathlib.Path(f"/var/tmp/polybox-verify-{os.geteuid()}-{place}")
    base.mkdir(mode=0o755, exist_ok=True)
    with open(base / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        directory = base / "a workspace"
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        try:
            yield directory, ROOT / "build/verify-cache"
        finally:
            shutil.rmtree(directory, ignore_errors=True)


def put(directory, name):
    """Replaces the content of the directory with a copy of the project."""
    for entry in directory.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    shutil.copytree(DATA / "projects" / name, directory, dirs_exist_ok=True)
