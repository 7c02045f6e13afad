"""An agent that works in a directory of its own through `polybox mcp`, for tests with real commands."""
import contextlib
import os
import pathlib
import shutil
import tempfile

from mcp_client import Server, request

# For a command on a busy machine.
PATIENCE = 120
# Commands do not run for root.
ORDINARY = 1000


class Agent:
    """Calls tools of one server, also several at once."""

    def __init__(self, server):
        self.server, self.last = server, 0

    def answer(self, name, /, patience=PATIENCE, **arguments):
        self.last += 1
        self.server.send(request(self.last, "tools/call", name=name, arguments=arguments))
        return self.server.take(timeout=patience)["result"]

    def call(self, name, /, **arguments):
        """The text and the data of an answer that is no error."""
        result = self.answer(name, **arguments)
        assert not result["isError"], result
        return result["content"][0]["text"], result["structuredContent"]

    def text(self, name, /, **arguments):
        return self.call(name, **arguments)[0]

    def error(self, name, /, **arguments):
        result = self.answer(name, **arguments)
        assert result["isError"], result
        return result["content"][0]["text"]


@contextlib.contextmanager
def directory(owner=ORDINARY):
    """A directory to work in. A server of root serves `owner` there. Commands of a jail see another /tmp, so it is not
    below that one."""
    path = pathlib.Path(tempfile.mkdtemp(dir="/var/tmp", prefix="polybox-e2e-"))
    path.chmod(0o777)
    if os.geteuid() == 0:
        os.chown(path, owner, owner)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def serving(box, workspace, *flags, prefix=(), env=None):
    """A server for the workspace. `prefix` is a command that starts it; `env` has more variables."""
    command = [*prefix, box.binary, "mcp", "--workspace", workspace, *flags]
    return Server(command, env=box.env(env), cwd=box.path)


@contextlib.contextmanager
def agent(box, *flags, prefix=()):
    """An agent in a directory of its own, whose server must end well."""
    with directory() as workspace, serving(box, workspace, *flags, prefix=prefix) as server:
        yield Agent(server)
        code, _ = server.end()
        assert code == 0, server.errors
