#!/usr/bin/env python3
"""Runs clang-tidy over the sources of a build folder, skipping files that have not changed since they were clean.

A file counts as unchanged when its text, the texts of all project headers it includes (through others too), its
compile command, .clang-tidy and the version of clang-tidy are the same. Clean results are remembered outside the
build folder. Usage: tidy.py BUILD_FOLDER
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
ROOT = pathlib.Path(__file__).resolve().parent.parent


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = pathlib.Path(base) / "polybox" / "tidy"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def forget_old(folder, days=30):
    for entry in folder.iterdir():
        if entry.stat().st_mtime < time.time() - days * 86400:
            entry.unlink(missing_ok=True)


def with_headers(source, build):
    """The source and every project header it reaches."""
    found, queue = set(), [source]
    while queue:
        path = queue.pop()
        if path in found:
            continue
        found.add(path)
        for name in INCLUDE.findall(path.read_text()):
            for folder in (path.parent, ROOT / "src", build / "cmd/polybox"):
                if (folder / name).is_file():
                    queue.append((folder / name).resolve())
                    break
    return sorted(found)


def fingerprint(entry, build, version):
    digest = hashlib.sha256()
    for part in (version, " ".join(SHALLOW), (ROOT / ".clang-tidy").read_text(), entry["command"]):
        digest.update(part.replace(str(ROOT), "").encode() + b"\0")
    for path in with_headers(pathlib.Path(entry["file"]).resolve(), build):
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()


# The analyzer is most of the time, so it looks at what ships, not at tests, and does not follow every path.
# Neither the library's own use of its deprecated parts nor an option that only GCC knows is our finding.
SHALLOW = ["-Xclang", "-analyzer-config", "-Xclang", "mode=shallow", "-Wno-deprecated-declarations",
           "-Wno-unknown-warning-option"]


def is_for_tests(file):
    return file.endswith("_test.cc") or "testing" in pathlib.Path(file).parts


def run(tidy, build, entry):
    command = [tidy, "--quiet", "-p", str(build), *("--extra-arg=" + word for word in SHALLOW)]
    if is_for_tests(entry["file"]):
        command.append("--checks=-clang-analyzer-*")
    command.append(entry["file"])
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout + ("" if done.returncode == 0 else done.stderr)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    tidy = shutil.which("clang-tidy-19") or sys.exit("tidy: clang-tidy-19 is not installed (make check installs it)")
    version = subprocess.run([tidy, "--version"], capture_output=True, text=True).stdout
    entries = json.loads((build / "compile_commands.json").read_text())
    entries = [e for e in entries if build not in pathlib.Path(e["file"]).parents]
    folder = cache_folder()
    forget_old(folder)
    stale = [(e, folder / fingerprint(e, build, version)) for e in entries]
    stale = [(e, stamp) for e, stamp in stale if not stamp.exists()]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {pool.submit(run, tidy, build, e): (e, stamp) for e, stamp in stale}
        for job in concurrent.futures.as_completed(jobs):
            entry, stamp = jobs[job]
            code, output = job.result()
            if code == 0:
                stamp.touch()
                continue
            failed += 1
            print(output)
    print(f"tidy: {len(entries)} files, {len(stale)} looked at, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
