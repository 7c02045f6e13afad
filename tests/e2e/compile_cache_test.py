"""The compile cache with real compilers: a hit is what the compiler did, and nobody can make it something else."""
import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import serving

# Each says something that only the program knows, and a warning where its compiler gives one.
PROGRAMS = {
    "c": ("hello.c", '#include <stdio.h>\nint main(void) { int unused; puts("c"); return 3; }\n'),
    "cpp": ("hello.cpp", '#include <bits/stdc++.h>\n'
                         'int main() { std::vector<int> v{2, 1}; for (int i = 0; i < v.size(); ++i) std::cout << v[i]; }\n'),
    "go": ("hello.go", 'package main\nimport "fmt"\nfunc main() { fmt.Println("go") }\n'),
    "rust": ("main.rs", 'fn main() { let unused = 1; println!("rust"); std::process::exit(4); }'),
    "node-typescript": ("main.ts", "const word: string = 'ts'; console.log(word); process.exit(5);"),
    "java": ("Main.java", 'class Main { static class Inner { String s = "java"; }\n'
                          "  public static void main(String[] a) { System.out.println(new Inner().s); } }"),
}
TIMES = ("wall_ms", "cpu_user_ms", "cpu_system_ms")
# A run's own figures differ from run to run.
MEASURED = (*TIMES, "memory_peak_bytes", "processes_peak", "cached")


def keep():
    """This machine's own toolchains and packages."""
    names = ("HOME", "PYENV_ROOT", "RUSTUP_HOME", "PATH")
    return serving.SETTINGS | {name: os.environ[name] for name in names if name in os.environ}


def run(box, file, *args, env=None):
    done = subprocess.run([str(box.binary), "run", "--json", *map(str, args), str(file)],
                          env=keep() | {"POLYBOX_CACHE_DIR": str(box.path / "cache")} | (env or {}), cwd=box.path,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def needs(box, language):
    done = subprocess.run([str(box.binary), "languages", "--json"], env=keep(), capture_output=True, text=True,
                          check=True)
    if language not in {each["id"] for each in json.loads(done.stdout) if each["available"]}:
        raise Skip(f"{language} is not available")  # noqa: F821 (run.py puts it here)


def without(step, keys):
    return {key: value for key, value in step.items() if key not in keys}


def results(report):
    """All of an answer but what is measured."""
    return [without(report[step], MEASURED) for step in ("compile", "run")]


def make_hit_test(language):
    def test(box):
        needs(box, language)
        name, code = PROGRAMS[language]
        file = box.write(name, code)
        first, second = run(box, file), run(box, file)
        if first["isolation"] not in ("full", "rootless"):
            raise Skip(f"isolation {first['isolation']} has no compile cache")  # noqa: F821
        assert first["compile"]["exit_code"] == 0, first
        assert (first["compile"]["cached"], second["compile"]["cached"]) == (False, True), (first, second)
        assert results(first) == results(second), (first, second)
        assert without(first["compile"], (*TIMES, "cached")) == without(second["compile"], (*TIMES, "cached"))
        bare = run(box, file, "--compile-cache=off")
        assert "cached" not in bare["compile"], bare
        assert results(bare) == results(second), (bare, second)
        box.write(name, code + "\n")
        assert run(box, file)["compile"]["cached"] is False
    return test


for _language in PROGRAMS:
    globals()[f"test_a_hit_in_{_language.replace('-', '_')}_is_what_the_compiler_did"] = make_hit_test(_language)


def changed_language(box, language, old, new):
    """A directory with this language's file, changed in one place."""
    folder = box.path / f"languages-{abs(hash(new))}"
    folder.mkdir()
    text = (box.root / "languages" / f"{language}.toml").read_text()
    assert old in text, f"{language}.toml has no {old!r}"
    (folder / f"{language}.toml").write_text(text.replace(old, new, 1))
    return folder


def test_a_change_of_the_language_file_is_a_miss(box):
    needs(box, "c")
    file = box.write("hello.c", PROGRAMS["c"][1])
    run(box, file)
    for old, new in [("-O2", "-O1"), ("[compile.env]", '[compile.env]\nTZ = "UTC"'),
                     ("address_space = \"1024MiB\"", "address_space = \"1023MiB\""), ("id = \"c\"", "# C\nid = \"c\""),
                     ("[files]", "[files.defaults]\n\"more.h\" = \"\"\n[files]")]:
        folder = changed_language(box, "c", old, new)
        for cached in (False, True):
            report = run(box, file, "--languages-dir", folder)
            assert report["compile"]["cached"] is cached, (new, report)
    assert run(box, file)["compile"]["cached"] is True


def test_a_program_that_says_when_it_was_compiled_is_not_cached(box):
    needs(box, "c")
    file = box.write("when.c", '#include <stdio.h>\nint main(void) { puts(__TIME__); return 0; }\n')
    for _ in range(2):
        assert "cached" not in run(box, file)["compile"]


def test_a_compiler_that_fails_is_asked_again(box):
    needs(box, "c")
    file = box.write("broken.c", "int main(void) { return missing; }\n")
    first, second = run(box, file), run(box, file)
    assert second["compile"]["cached"] is False and second["run"] is None, second
    assert first["compile"]["stderr"] == second["compile"]["stderr"] != ""


# Looks for the cache wherever a guest can look, and changes all that it can change.
ATTACK = r"""
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
int main(int argc, char **argv) {
  char path[64];
  puts("honest");
  for (int fd = 3; fd < 64; ++fd) {
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int again = open(path, O_WRONLY | O_TRUNC);
    if (again >= 0 && write(again, "poison", 6) == 6) puts("wrote to a descriptor");
  }
  if (access(CACHE, F_OK) == 0) puts("found the cache");
  chmod(argv[0], 0777);
  rename(argv[0], "old");
  int fd = open(argv[0], O_WRONLY | O_CREAT | O_TRUNC, 0777);
  const char *poison = "#!/bin/sh\necho poisoned\n";
  if (write(fd, poison, strlen(poison)) < 0) puts("not even its own");
  close(fd);
  fd = open("attack.c", O_WRONLY | O_TRUNC);
  if (write(fd, "poison", 6) != 6) puts("not even its own source");
  return 0;
}
"""


def test_a_program_cannot_change_what_the_next_one_gets(box):
    needs(box, "c")
    file = box.write("attack.c", f'#define CACHE "{box.path}/cache"\n' + ATTACK)
    for cached in (False, True, True):
        report = run(box, file)
        assert report["compile"]["cached"] is cached, report
        assert report["run"]["stdout"] == "honest\n", report


def test_a_damaged_entry_is_compiled_again(box):
    needs(box, "c")
    file = box.write("hello.c", PROGRAMS["c"][1])
    good = run(box, file)
    [entry] = (box.path / "cache" / "compiled").iterdir()
    content = entry.read_bytes()
    for damaged in (b"", content[: len(content) // 2], content[:100] + b"poison" + content[106:], content[1:]):
        entry.write_bytes(damaged)
        report = run(box, file)
        assert report["compile"]["cached"] is False, report
        assert results(report) == results(good)
    assert entry.read_bytes()[:100] == content[:100]


def test_the_cache_has_its_size_and_place(box):
    needs(box, "c")
    place = box.path / "elsewhere"
    for number in range(12):
        file = box.write("hello.c", f"int main(void) {{ return {number}; }}\n")
        run(box, file, "--compile-cache-dir", place, "--compile-cache-size", "100KiB")
    assert not (box.path / "cache" / "compiled").exists()
    kept = [entry.stat().st_size for entry in pathlib.Path(place).iterdir()]
    assert 1 <= len(kept) <= 6 and sum(kept) <= 100 << 10, kept
    assert place.stat().st_mode & 0o777 == 0o700


def test_a_cache_that_cannot_be_made_only_costs_time(box):
    needs(box, "c")
    box.write("file", "")
    report = run(box, box.write("hello.c", PROGRAMS["c"][1]), "--compile-cache-dir", box.path / "file" / "cache")
    assert report["run"]["stdout"] == "c\n" and "cached" not in report["compile"], report


HEADER = "#include <bits/stdc++.h>\n"
# What a header's place could show in: messages that name it, and what a program does before it.
AWKWARD = {
    "plain": HEADER + "int main() { std::cout << std::gcd(4, 6); }",
    "a warning": HEADER + "int main() { int unused; return 0; }",
    "an error in a template": HEADER + 'int main() { std::vector<int> v; v.push_back("x"); std::sort(1, 2); }',
    "a macro before it": "#define NDEBUG\n" + HEADER + "int main() { assert(false); }",
    "another macro before it": "#define _GLIBCXX_ASSERTIONS 1\n" + HEADER +
                               "int main() { std::vector<int> v; volatile int i = 0; return v[i]; }",
    "a line of its own before it": "int before = 1;\n" + HEADER + "int main() { return before; }",
    "a counter": HEADER + "int main() { return __COUNTER__; }",
    "where it is": HEADER + 'int main() { std::cout << __FILE__ << __LINE__ << __has_include(<bits/stdc++.h>); }',
}


def ready(server, language, code):
    """Sends programs until what compilers find ready is there."""
    prepared = pathlib.Path(server.folder.name) / "cache" / "prepared"
    for number in range(600):
        server.ask({"path": "/execute", "json": {"language": language, "code": f"{code}// {min(number, 1)}\n"}})
        if prepared.exists() and [each for each in prepared.iterdir() if not each.name.startswith(".")]:
            return
        time.sleep(0.2)
    raise AssertionError("nothing is ready")


def step(answer):
    body = answer.json()
    return {key: body.get(key) for key in ("status", "exit_code", "stdout", "stderr", "compile_output")}


def test_a_precompiled_header_changes_nothing(box):
    needs(box, "cpp")
    with_it, bare = http_test().Server(), http_test().Server(["--compile-cache=off"])
    try:
        ready(with_it, "cpp", "int main() {}")
        for name, code in AWKWARD.items():
            request = {"path": "/execute", "json": {"language": "cpp", "code": code}}
            plain = step(bare.ask(request))
            for _ in range(2):
                got = step(with_it.ask(request))
                assert got == plain, (name, got, plain)
    finally:
        with_it.stop()
        bare.stop()


def test_hits_and_misses_are_counted(box):
    needs(box, "c")
    server = http_test().Server()
    try:
        request = {"path": "/execute", "json": {"language": "c", "code": "int main(void) { return 0; }"}}
        for _ in range(3):
            server.ask(request)
        page = server.ask({"method": "GET", "path": "/metrics"}).text
        for result, count in (("miss", 1), ("hit", 2)):
            line = f'polybox_compile_cache_total{{language="c",door="execute",result="{result}"}} {count}'
            assert line in page, page
    finally:
        server.stop()


def http_test():
    """The module that knows how to start a server."""
    if "loaded" not in vars(http_test):
        spec = importlib.util.spec_from_file_location("http_server", pathlib.Path(__file__).with_name("http_test.py"))
        http_test.loaded = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(http_test.loaded)
    return http_test.loaded


# The finished program as a language of its own: the same run, with nothing to compile or to copy.
FINISHED = """
id = "finished-{language}"
name = "Finished"
extensions = [".finished-{language}"]
[toolchain]
binaries = ["true"]
version = ["{{executable}}", "--version"]
[entry]
file = "main"
[run]
command = ["{program}"]
read_only = ["{program}"]
[run.limits]
address_space = "1024MiB"
open_files = 64
processes = 64
[image]
apt = []
"""
BUILD = {
    "cpp": ["g++", "-O2", "-o"],
    "rust": ["rustc", "-C", "strip=debuginfo", "-o"],
    "go": ["go", "build", "-ldflags=-w", "-o"],
}


def medians(server, language, code, rounds):
    """Of a hit and of a run of the finished program, taken in turn."""
    times = {language: [], f"finished-{language}": []}
    for _ in range(rounds):
        for name, taken in times.items():
            answer = server.ask({"path": "/execute", "json": {"language": name, "code": code}})
            assert answer.json()["status"] in ("success", "error") and answer.json()["stdout"], answer
            taken.append(answer.seconds)
    return [statistics.median(taken) for taken in times.values()]


def test_a_hit_takes_less_than_two_and_a_half_runs_of_the_finished_program(box):
    languages = box.path / "languages"
    languages.mkdir()
    # Not in /tmp, which is another one in a jail.
    with tempfile.TemporaryDirectory(prefix="polybox-e2e-", dir="/var/tmp") as folder:
        os.chmod(folder, 0o755)
        for language, command in BUILD.items():
            needs(box, language)
            name, code = PROGRAMS[language]
            program = f"{folder}/{language}"
            subprocess.run([*command, program, str(box.write(name, code))], cwd=box.path, check=True,
                           env=keep() | {"CGO_ENABLED": "0"}, capture_output=True, timeout=300)
            (languages / f"{language}.toml").write_text(FINISHED.format(language=language, program=program))
        server = http_test().Server(["--languages-dir", str(languages)])
        try:
            for language in BUILD:
                code = PROGRAMS[language][1]
                medians(server, language, code, 5)  # compiled, and slots made
                tries = [medians(server, language, code, 25)]
                while tries[-1][0] >= 2.5 * tries[-1][1] and len(tries) < 4:
                    tries.append(medians(server, language, code, 25))
                assert tries[-1][0] < 2.5 * tries[-1][1], (language, tries)
        finally:
            server.stop()


test_a_hit_takes_less_than_two_and_a_half_runs_of_the_finished_program.alone = True
