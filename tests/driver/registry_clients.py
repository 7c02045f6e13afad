"""The clients of package registries on this machine, outside of any jail, for tests that need real packages."""
import os
import subprocess
import tempfile

SECONDS = 300
# What asks each registry for one small package.
ASK = {
    "npm": ["npm", "view", "is-number@7.0.0", "version"],
    "go": ["go", "list", "-m", "-json", "golang.org/x/sync@v0.10.0"],
    "pip": ["python3", "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "six==1.17.0"],
}
# Where the clients keep what is theirs. A test has other places.
HOMES = {"HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "GOPATH", "GOMODCACHE", "GOCACHE", "CARGO_HOME", "PIP_CACHE_DIR",
         "UV_CACHE_DIR", "npm_config_cache"}


def variables():
    """The environment in which the clients reach their registries, without settings of polybox."""
    return {name: value for name, value in os.environ.items() if not name.startswith("POLYBOX_") and name not in HOMES}


def run(command, folder, env=None):
    """Why the command failed; "" if it did not."""
    try:
        done = subprocess.run(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if done.returncode == 0 else f"{command} failed: {(done.stdout + done.stderr)[-1000:]}"


def why_not(*clients):
    """Why packages cannot be had from the registries of these clients; "" if they can."""
    for client in clients:
        with tempfile.TemporaryDirectory() as folder:
            if why := run(ASK[client], folder):
                return f"the registry of {client} cannot be reached: {why}"
    return ""
