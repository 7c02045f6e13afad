"""How much the base directory of the Kubernetes runtime API may hold: as the kernel keeps it, and as we watch it."""
import json
import os

from serving import Server, has_serve

LIMITS = ["--base-dir-size", "8MiB", "--base-dir-files", "50"]


def command(server, words):
    return server.ask({"path": "/execute", "json": {"command": words}}).json()


def upload(server, name, size):
    body = f'--B\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n{"x" * size}\r\n--B--\r\n'
    return server.ask({"path": "/upload", "body": body,
                       "headers": {"Content-Type": "multipart/form-data; boundary=B"}})


def warnings(server):
    lines = [json.loads(line) for line in server.whole_log().decode().splitlines() if line.startswith("{")]
    return [line for line in lines if "watched" in line.get("msg", line.get("message", ""))]


def tidy_up(server):
    """Whatever happened, a command may remove what is there, and then there is room again."""
    answer = command(server, "sh -c 'rm -rf *; ls -A'")
    assert (answer["exit_code"], answer["stdout"]) == (0, ""), answer
    assert upload(server, "again", 1000).status == 200
    assert command(server, "cat again")["stdout"] == "x" * 1000


def uploads_stop_at_the_limit(server):
    assert upload(server, "first", 6 << 20).status == 200
    refused = upload(server, "second", 6 << 20)
    assert refused.status == 507, str(refused)
    assert refused.json()["message"].startswith("File upload failed: "), str(refused)
    assert "No space left on device" in refused.json()["message"], str(refused)
    assert server.ask({"method": "GET", "path": "/exists/second"}).json()["exists"] is False


if has_serve():
    def test_a_private_base_directory_is_full_when_it_is_full(box):
        """A file system of its own: the command itself is told ENOSPC, by the kernel."""
        if os.geteuid() != 0:
            raise Skip("only root can mount a file system")
        server = Server([*LIMITS, "--base-dir", "{tmp}/none"])
        try:
            assert warnings(server) == []
            uploads_stop_at_the_limit(server)
            answer = command(server, "sh -c 'head -c 4M /dev/zero > more; echo $?; ls -A'")
            assert answer["stdout"] == "1\nfirst\nmore\n", answer
            assert "No space left on device" in answer["stderr"], answer
            tidy_up(server)
            answer = command(server, "sh -c 'for i in $(seq 60); do : > f$i || exit 3; done'")
            assert answer["exit_code"] != 0 and "No space left on device" in answer["stderr"], answer
            tidy_up(server)
            # Another slot finds the same files, and the host finds none.
            assert command(server, "ls -A")["stdout"] == "again\n"
            assert not os.path.exists(f"{server.folder.name}/none")
        finally:
            server.stop()

    def test_a_base_directory_that_is_there_is_watched(box):
        server = Server(LIMITS)
        try:
            assert len(warnings(server)) == 1, server.said()
            uploads_stop_at_the_limit(server)
            answer = command(server, "sh -c 'for i in $(seq 60); do head -c 1M /dev/zero > m$i; sleep 0.1; done'")
            assert answer["exit_code"] == 1, answer
            assert answer["stderr"] == ("Failed to execute command: No space left on device: the base directory may "
                                        "hold 8MiB in 50 files"), answer
            tidy_up(server)
            answer = command(server, "sh -c 'for i in $(seq 600); do : > f$i; sleep 0.02; done'")
            assert answer["exit_code"] == 1 and "No space left" in answer["stderr"], answer
            tidy_up(server)
        finally:
            server.stop()
