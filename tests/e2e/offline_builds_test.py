"""Projects that build without a network, from the package caches of the user, in the jail of a workspace; and those that get
their packages through the proxy."""
import os
import shutil

import registry_clients
from coding_agent import Agent, directory, serving

# A user without a home: the package caches are then those of the server's user, with another owner than the workspace.
OWNER = 54321
BUILD = {"timeout": 600, "soft_timeout": 600, "patience": 900}

# For each client its program, the project, the command that fills the user's cache with the network, the cache below the
# home directory, the command that builds without a network, and what the result prints.
PROJECTS = {
    "npm": {
        "program": "npm",
        "files": {"package.json": '{"name": "day", "version": "1.0.0", "dependencies": {"is-number": "7.0.0"}}\n'},
        "fetch": ["npm", "install", "--no-audit", "--no-fund"],
        "cache": ".npm/_cacache",
        "build": "npm ci --offline --no-audit --no-fund >&2 && node -p 'require(\"is-number\")(5)'",
        "prints": "true\n",
    },
    "go": {
        "program": "go",
        "files": {
            "go.mod": "module example.org/day\n\ngo 1.21\n\nrequire golang.org/x/sync v0.10.0\n",
            "main.go": ('package main\n\nimport "golang.org/x/sync/errgroup"\n\n'
                        'func main() {\n\tvar group errgroup.Group\n'
                        '\tgroup.Go(func() error { println("built"); return nil })\n\tgroup.Wait()\n}\n'),
        },
        "fetch": ["go", "mod", "tidy"],
        "cache": "go/pkg/mod",
        "build": "CGO_ENABLED=0 GOPROXY=off GOFLAGS=-mod=readonly go run . 2>&1",
        "prints": "built\n",
    },
    "cargo": {
        "program": "cargo",
        "files": {
            "Cargo.toml": '[package]\nname = "day"\nversion = "0.1.0"\n\n[dependencies]\ncfg-if = "=1.0.0"\n',
            "src/main.rs": 'cfg_if::cfg_if! { if #[cfg(unix)] { fn main() { println!("built"); } } else { fn main() {} } }\n',
        },
        "fetch": ["cargo", "fetch"],
        "cache": ".cargo/registry",
        "build": "cargo run --offline --quiet",
        "prints": "built\n",
    },
    "maven": {
        "program": "mvn",
        "files": {"pom.xml": ("<project><modelVersion>4.0.0</modelVersion>"
                              "<parent><groupId>org.apache</groupId><artifactId>apache</artifactId><version>21</version>"
                              "<relativePath/></parent>"
                              "<groupId>day</groupId><artifactId>day</artifactId><version>1</version>"
                              "<packaging>pom</packaging></project>\n")},
        "fetch": ["mvn", "--batch-mode", "--quiet", "--non-recursive", "validate"],
        "cache": ".m2/repository",
        "build": "mvn --offline --batch-mode --quiet validate && echo built",
        "prints": "built\n",
    },
    "uv": {
        "program": "uv",
        "files": {"requirements.txt": "six==1.17.0\n"},
        "fetch": ["uv", "pip", "install", "--quiet", "--target", "fetched", "-r", "requirements.txt"],
        "cache": ".cache/uv",
        "build": ("uv pip install --offline --quiet --target packages -r requirements.txt && "
                  "PYTHONPATH=packages python3 -c 'import six; print(six.__version__)'"),
        "prints": "1.17.0\n",
    },
}


def state_of(folder):
    """What would differ if something had written below the folder."""
    return {str(path.relative_to(folder)): (path.lstat().st_mtime_ns, path.lstat().st_size, path.lstat().st_uid)
            for path in folder.rglob("*")}


def fill_cache(box, project):
    """Fetches the packages of a project into the home directory of the test. Returns the project's files."""
    folder = box.path / "fetching" / project["program"]
    for name, text in project["files"].items():
        box.write(f"{folder}/{name}", text)
    home = str(box.path / "home")
    env = registry_clients.variables() | rustup() | {"HOME": home, "GOFLAGS": "-modcacherw", "MAVEN_OPTS": f"-Duser.home={home}"}
    if why := registry_clients.run(project["fetch"], folder, env):
        raise Skip(why)  # noqa: F821 (run.py puts it here)
    return folder


def rustup():
    """The toolchain of Rust is not in the home directory of a test."""
    return {"RUSTUP_HOME": os.environ.get("RUSTUP_HOME", os.path.expanduser("~/.rustup"))}


def build_in_jail(box, name, folder, command, *flags):
    """Builds a copy of the project in a workspace, and returns the data of the answer."""
    with directory(OWNER) as workspace:
        shutil.copytree(folder, workspace / "project")
        if os.geteuid() == 0:
            for path in [workspace / "project", *(workspace / "project").rglob("*")]:
                os.chown(path, OWNER, OWNER)
        with serving(box, workspace, *flags, env=registry_clients.variables() | rustup()) as server:
            text, data = Agent(server).call("Bash", command=command, cwd="project", **BUILD)
            prints = PROJECTS[name]["prints"]
            assert (data["exit_code"], data["output"][-len(prints):]) == (0, prints), text
            assert server.end(60)[0] == 0, server.errors
    return data


def make_offline_test(name):
    def test(box):
        project = PROJECTS[name]
        if not shutil.which(project["program"]):
            return  # Languages without a toolchain have their own tests.
        folder = fill_cache(box, project)
        cache = box.path / "home" / project["cache"]
        before = state_of(cache)
        assert before, "the client has filled its cache"
        data = build_in_jail(box, name, folder, project["build"])
        assert data["notes"] == [], data
        assert state_of(cache) == before, "the user's cache is as before"
    return test


def make_download_test(name):
    def test(box):
        project = PROJECTS[name]
        if not shutil.which(project["program"]):
            return  # Languages without a toolchain have their own tests.
        folder = fill_cache(box, project)
        shutil.rmtree(box.path / "home")
        # A registry may fail once in a while.
        fetch = " ".join(project["fetch"])
        command = f"({fetch} || {fetch} || {fetch}) >&2 && {project['build']}"
        build_in_jail(box, name, folder, command, "--workspace-egress", "registries")
    return test


for _name in PROJECTS:
    globals()[f"test_a_project_of_{_name}_builds_without_a_network_from_the_users_cache"] = make_offline_test(_name)
# working_day_test.py has the other clients.
for _name in ("cargo", "maven"):
    globals()[f"test_a_project_of_{_name}_gets_its_packages_through_the_proxy"] = make_download_test(_name)
