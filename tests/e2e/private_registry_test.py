"""Credentials for a private registry of packages, in commands of a workspace."""
import os
import shutil

import npm_registry
from coding_agent import Agent, directory, serving

# A user without a home: a name of its own is not needed on this machine.
OWNER = 54321
TOKEN = "token-of-the-user"
INSTALL = "npm install --no-audit --no-fund polybox-word 2>&1 && node -p 'require(\"polybox-word\")'"


def credentials(box, address, owner):
    """A file of the user with the token, and another one that no variable names. Nobody else can read them."""
    files = [box.write(name, f"//{address}/:_authToken={TOKEN}\n", mode=0o600) for name in ("npmrc", "home/.npmrc")]
    box.path.chmod(0o755)
    for file in files:
        if os.geteuid() == 0:
            os.chown(file, owner, owner)
    return files


def test_a_token_reaches_commands_only_in_the_file_that_a_variable_names(box):
    if not shutil.which("npm"):
        return  # Languages without a toolchain have their own tests.
    word = npm_registry.package("polybox-word", "1.0.0", "module.exports = 'installed';")
    with npm_registry.registry([word], TOKEN) as env, directory(OWNER) as workspace:
        address = env.pop("POLYBOX_EGRESS_ALLOW")
        named, other = credentials(box, address, OWNER)
        secret = f"cat {other} {other.parent}/*; grep -s {TOKEN} -r ~ . ; env | grep {TOKEN}; ls {named.parent}"
        with serving(box, workspace, "--workspace-egress", "registries", env=env) as server:
            bash = Agent(server)
            text = bash.text("Bash", command=INSTALL)
            assert "E401" in text and "installed" not in text, text
            assert TOKEN not in bash.text("Bash", command=secret)
            server.end()
        with serving(box, workspace, "--workspace-egress", "registries",
                     env=env | {"NPM_CONFIG_USERCONFIG": str(named)}) as server:
            bash = Agent(server)
            text = bash.text("Bash", command=INSTALL)
            assert text.endswith("installed\n"), text
            text = bash.text("Bash", command=secret + f"; echo >> {named}")
            assert TOKEN not in text and "Read-only file system" in text, text
            server.end()
        assert named.read_text() == f"//{address}/:_authToken={TOKEN}\n"
