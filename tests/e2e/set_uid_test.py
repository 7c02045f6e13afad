"""No command of the Kubernetes runtime API makes a set-uid or set-gid file in a base directory of the host."""
import io
import os
import pathlib
import stat
import tarfile

from serving import Server, has_serve

OWNER = 12345
BITS = stat.S_ISUID | stat.S_ISGID

# Every system call that gives a file a mode, and the calls that could hide a mode from a filter. One line for each
# call: its name and 0 or the errno.
EVERY_CALL = r"""
import ctypes, os, platform, stat, struct
libc = ctypes.CDLL(None, use_errno=True)
def call(name, number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *(ctypes.c_char_p(a) if isinstance(a, bytes) else ctypes.c_long(a)
                                                   for a in arguments))
    print(name, 0 if result >= 0 else ctypes.get_errno(), flush=True)
    return result
AT = -100
for bits in (0o4755, 0o2755, 0o6755):
    end = b'-%o' % bits
    def made(name):
        open(name.encode() + end, 'wb').write(open('/bin/true', 'rb').read())
        return name.encode() + end
    if platform.machine() == 'x86_64':
        call('chmod', 90, made('chmod'), bits)
        call('fchmod', 91, os.open(made('fchmod'), os.O_RDONLY), bits)
        call('fchmodat', 268, AT, made('fchmodat'), bits)
        call('open', 2, b'open' + end, os.O_CREAT | os.O_WRONLY, bits)
        call('creat', 85, b'creat' + end, bits)
        call('openat', 257, AT, b'openat' + end, os.O_CREAT | os.O_WRONLY, bits)
        call('mknod', 133, b'mknod' + end, stat.S_IFREG | bits, 0)
        call('mknodat', 259, AT, b'mknodat' + end, stat.S_IFREG | bits, 0)
        fd = call('tmpfile', 257, AT, b'.', os.O_TMPFILE | os.O_RDWR, bits)
        if fd >= 0:
            libc.linkat(AT, b'/proc/self/fd/%d' % fd, AT, b'tmpfile' + end, 0x400)
    else:
        call('fchmod', 52, os.open(made('fchmod'), os.O_RDONLY), bits)
        call('fchmodat', 53, AT, made('fchmodat'), bits)
        call('openat', 56, AT, b'openat' + end, os.O_CREAT | os.O_WRONLY, bits)
        call('mknodat', 33, AT, b'mknodat' + end, stat.S_IFREG | bits, 0)
    call('fchmodat2', 452, AT, made('fchmodat2'), bits, 0)
    how = ctypes.create_string_buffer(struct.pack('QQQ', os.O_CREAT | os.O_WRONLY, bits, 0))
    call('openat2', 437, AT, b'openat2' + end, ctypes.addressof(how), 24)
    os.mkdir(b'mkdir' + end, bits)
"""

# What ordinary tools do, and how they take the refusal.
TOOLS = r"""
cp /usr/bin/passwd copied && echo copied
cp -p /usr/bin/passwd kept 2>/dev/null; test -s kept && echo kept
chmod 6755 copied 2>/dev/null || echo chmod refused
chmod 755 copied && ./copied --help >/dev/null 2>&1 && echo still runs
install -m 6755 /bin/true installed 2>/dev/null || echo install refused
tar -xpf archive.tar 2>messages; test -s member && grep -q 'Operation not permitted' messages && echo extracted
mkfifo pipe && mkdir -m 1777 folder && echo made
mkdir shared && { chmod g+s shared 2>/dev/null || echo directory refused; }
python3 -c "
import shutil
try: shutil.copy('/usr/bin/passwd', 'python')
except PermissionError: print('python refused')"
"""


def base_of(server):
    base = pathlib.Path(server.folder.name) / "base"
    os.chmod(server.folder.name, 0o755)
    os.chown(base, OWNER, OWNER)
    return base


def special_files(base):
    found = []
    for folder, folders, files in os.walk(base):
        found += [name for name in folders + files if os.lstat(os.path.join(folder, name)).st_mode & BITS]
    return sorted(found)


def execute(server, words):
    return server.ask({"path": "/execute", "json": {"command": words}}).json()


def in_base_of_another(box, programs, args=()):
    """Runs programs as commands in a base directory of the host that belongs to another uid."""
    if os.geteuid() != 0:
        raise Skip("only root can give a directory to another uid")
    server = Server([*args, "--base-dir", "{tmp}/base"], 
                    prefix=["sh", "-c", f'chown {OWNER}:{OWNER} {{tmp}}/base && exec "$@"', "start"])
    try:
        base = base_of(server)
        for name, content in programs.items():
            (base / name).write_bytes(content)
        answers = [execute(server, f"{'python3' if name.endswith('.py') else 'bash'} {name}")
                   for name in programs if name.endswith((".py", ".sh"))]
        owners = {os.lstat(base / name).st_uid for name in os.listdir(base) if name not in programs}
        return answers, special_files(base), owners
    finally:
        server.stop()


def archive():
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as out:
        member = tarfile.TarInfo("member")
        member.mode, member.size = 0o6755, 5
        out.addfile(member, io.BytesIO(b"hello"))
    return packed.getvalue()


if has_serve():
    def test_no_system_call_makes_a_set_uid_file_in_a_base_directory(box):
        (answer,), special, owners = in_base_of_another(box, {"calls.py": EVERY_CALL.encode()})
        assert answer["exit_code"] == 0, answer
        lines = [line.split() for line in answer["stdout"].splitlines()]
        assert {name for name, _ in lines} >= {"fchmod", "openat", "mknodat", "fchmodat2", "openat2"}, answer
        assert special == [], (special, answer["stdout"])
        assert owners == {OWNER}, owners
        wrong = [line for line in lines if line[1] != {"openat2": "38"}.get(line[0], "1")
                 and line != ["fchmodat2", "38"]]
        assert wrong == [], wrong

    def test_tools_take_the_refusal_of_set_uid_bits_well(box):
        (answer,), special, _ = in_base_of_another(box, {"tools.sh": TOOLS.encode(), "archive.tar": archive()})
        assert special == [], special
        assert answer["stdout"].splitlines() == [
            "copied", "kept", "chmod refused", "still runs", "install refused", "extracted", "made",
            "directory refused", "python refused"], answer

    def test_without_namespaces_no_set_uid_file_is_made_either(box):
        done = box.run("run", "--isolation=landlock", "--min-isolation=landlock", box.write("true.sh", "true\n"))
        if "isolation landlock is needed" in done.stderr:
            raise Skip(done.stderr)  # noqa: F821 (run.py puts it here)
        answers, special, _ = in_base_of_another(box, {"calls.py": EVERY_CALL.encode()},
                                                 ["--isolation=landlock", "--min-isolation=landlock"])
        assert answers[0]["exit_code"] == 0, answers
        assert special == [], (special, answers)
