"""How much the base directory of the Kubernetes runtime API may hold: as the kernel keeps it, and as we watch it."""
import json
import os
import pathlib
import subprocess
import time

import serving
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
    return [line for line in lines if "polybox watches it" in line.get("msg", line.get("message", ""))]


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


def await_user_namespace(process):
    limit = time.monotonic() + 60
    while os.readlink(f"/proc/{process.pid}/ns/user") == os.readlink("/proc/self/ns/user"):
        assert process.poll() is None and time.monotonic() < limit
        time.sleep(0.01)


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

    def test_a_base_directory_whose_owner_has_no_uid_here_is_refused_with_the_fix(box):
        if os.geteuid() != 0:
            raise Skip("only root can map a range of uids")
        box.path.chmod(0o755)
        temporary, base = box.path / "tmp", box.path / "base"
        for directory, owner in ((temporary, 100000), (base, 5000)):
            directory.mkdir()
            os.chown(directory, owner, owner)
        binary = serving.copy_of(box.binary, box.path)
        process = subprocess.Popen(
            ["unshare", "--user", "--keep-caps", "sh", "-c",
             'read mapped; exec setpriv --reuid=0 --regid=0 --clear-groups "$@"', "sh", binary, "serve",
             "--min-isolation=landlock", f"--base-dir={base}", "--listen=127.0.0.1:0"],
            env=box.env({"TMPDIR": str(temporary)}), cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        try:
            await_user_namespace(process)
            for name in ("uid_map", "gid_map"):
                pathlib.Path(f"/proc/{process.pid}/{name}").write_text("0 100000 65536")
            _, err = process.communicate("mapped\n", timeout=60)
        finally:
            process.kill()
        assert process.returncode == 1, err
        assert "the owner of the base directory has no uid in this container\nfix: map that uid" in err, err

    def own_directories(folder):
        return sorted(path.name for path in folder.iterdir() if path.name.endswith("-base"))

    def test_leftovers_of_a_killed_server_go_at_the_next_start_and_directories_of_a_living_one_stay(box):
        temporary = box.path / "tmp"
        temporary.mkdir()
        arguments = ["--base-dir", "{tmp}/none"]
        environment = {"TMPDIR": str(temporary)}
        killed = Server(arguments, env=environment)
        (first,) = own_directories(temporary)
        assert upload(killed, "left/behind", 100).status == 200
        killed.process.kill()
        killed.process.wait()
        killed.discard()
        assert own_directories(temporary) == [first], "the kill itself leaves the directory"
        living = Server(arguments, env=environment)
        try:
            (second,) = own_directories(temporary)
            assert second != first
            assert upload(living, "mine", 100).status == 200
            third = Server(arguments, env=environment)
            try:
                assert second in own_directories(temporary) and len(own_directories(temporary)) == 2
            finally:
                third.stop()
            assert command(living, "ls")["stdout"] == "mine\n"
        finally:
            living.stop()
        assert own_directories(temporary) == []
