"""Run the programs of examples/gallery, and keep what they print.

    python examples/run.py [NAME ...] [--write]

A program whose packages are missing is left out with a word. `--write` keeps the output beside the program,
with a digest of it, the machine and the day: pages of the site show it.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib.util
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GALLERY = ROOT / "examples" / "gallery"
SHARED = GALLERY / "comparison.py"
sys.path.insert(0, str(ROOT))
LIMIT = 600  # seconds for one program


def programs() -> list[Path]:
    return [path for path in sorted(GALLERY.glob("*.py")) if path != SHARED]


def digest(program: Path) -> str:
    """Of a program and of what all of them share."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in (program, SHARED))).hexdigest()


def record_of(program: Path) -> Path:
    return program.with_suffix(".txt")


def recorded(program: Path) -> tuple[str, str, str]:
    """The digest of the program that was run, where and when, and what it printed."""
    first, where, output = record_of(program).read_text(encoding="utf-8").split("\n", 2)
    return first, where, output


def missing(program: Path) -> str:
    """What cannot be imported or used here; empty where all can."""
    tree = ast.parse(program.read_text(encoding="utf-8"))
    imports = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    imports += [each.name for node in ast.walk(tree) if isinstance(node, ast.Import) for each in node.names]
    names = {name.partition(".")[0] for name in imports} - {SHARED.stem}
    absent = sorted(name for name in names if importlib.util.find_spec(name) is None)
    if not absent and "cupy" in names:
        import cupy

        return "" if cupy.is_available() else "a GPU"
    return " and ".join(absent)


def run(program: Path) -> str:
    """What the program prints."""
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, str(program)],
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    if done.returncode:
        raise RuntimeError(f"{program.name} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def machine(program: Path) -> str:
    """The processor or GPU, the day and the version."""
    import linforest_precond
    from linforest_precond.study.machine import machine as found

    device = "cuda" if program.stem.startswith("cupy") else "cpu"
    where = found(device)
    place = where["gpu"] if device == "cuda" else f"{where['cpu']} ({where['cores']} cores)"
    return f"{place}, {datetime.now(UTC):%Y-%m-%d}, linforest_precond {linforest_precond.__version__}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    names = [program.stem for program in programs()]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}; all by default")
    parser.add_argument("--write", action="store_true", help="keep what the programs print")
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(names):
        parser.error(f"no program {', '.join(sorted(unknown))}")
    for program in programs():
        if options.names and program.stem not in options.names:
            continue
        if absent := missing(program):
            print(f"{program.stem}: left out, needs {absent}", flush=True)
            continue
        print(f"{program.stem}:", flush=True)
        output = run(program)
        print(output, flush=True)
        if options.write:
            text = f"{digest(program)}\n{machine(program)}\n{output}"
            record_of(program).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
