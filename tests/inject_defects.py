"""Inject the defects of tests/project/defects.toml, one at a time, and report which the quick tests find.

    python tests/inject_defects.py [ROOM ...]

The tree is copied once, compiled kernels included; each defect is undone before the next one. Exits with 1 if
a defect is not found.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = shutil.ignore_patterns(".git", ".venv*", "build", "dist")
PYTEST = "-m", "pytest", "-x", "-q", "-m", "not slow", "-p", "no:cacheprovider"
TESTS_FAILED = 1  # pytest's exit code; others are errors of the run


def outcome(tree, defect):
    """How the tests of a defect ended, in words, and whether they found it."""
    file, old = tree / defect["file"], defect["old"]
    text, times = file.read_text(encoding="utf-8"), file.stat()
    if text.count(old) != 1:
        raise SystemExit(f"{defect['file']} must have `{old}` once, found {text.count(old)} of them")
    file.write_text(text.replace(old, defect["new"]), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(tree), "CI": "1"}
    command = [sys.executable, *PYTEST, *defect["tests"].split()]
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)
    file.write_text(text, encoding="utf-8")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))  # compiled kernels stay valid
    lines = done.stdout.strip().splitlines()
    failed = [line.split(" - ")[0] for line in lines if line.startswith(("FAILED", "ERROR"))]
    return " ".join(failed or lines[-1:]), done.returncode == TESTS_FAILED


def main(rooms):
    defects = tomllib.loads((ROOT / "tests/project/defects.toml").read_text(encoding="utf-8"))["defect"]
    if unknown := set(rooms) - {defect["room"] for defect in defects}:
        raise SystemExit(f"ROOM must be one of defects.toml, got {', '.join(sorted(unknown))}")
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = shutil.copytree(ROOT, Path(folder) / "tree", symlinks=True, ignore=LEFT_OUT)
        for defect in defects:
            if rooms and defect["room"] not in rooms:
                continue
            start = time.perf_counter()
            words, is_found = outcome(tree, defect)
            missed += not is_found
            verdict, seconds = "found" if is_found else "NOT FOUND", time.perf_counter() - start
            print(f"{defect['room']}: {verdict}, {seconds:.0f} s: {words}", flush=True)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
