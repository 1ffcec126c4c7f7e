"""The machine and the version of the code that a measurement was made with."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from pathlib import Path

from linforest_precond.study.machine import commit, machine, versions

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "linforest_precond"
BACKENDS = PACKAGE / "backends"
# Host code that both backends run: an extra copy or synchronization here slows rows down as well.
HOST_FOLDERS = (ROOT / "solvers", *(PACKAGE / room for room in ("matrix", "records", "precond", "graph")))
# Modules of the study that the benchmarks use.
STUDY_MODULES = tuple(PACKAGE / "study" / f"{name}.py" for name in ("forests/recording", "machine", "timing"))


def surroundings(device) -> dict:
    """The fields of a results file that do not depend on what is measured."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "machine": machine(device),
        "versions": versions(device),
        "sha256": code_hashes(),
    }


def code_hashes() -> dict:
    """The sha256 of each backend with all host code above it, and of the benchmarks themselves."""
    host = (*HOST_FOLDERS, *sorted(BACKENDS.glob("*.py")))
    return {
        "cuda": hash_of(BACKENDS / "cuda", *host),
        "cpu": hash_of(BACKENDS / "cpu", *host),
        "benchmarks": hash_of(ROOT / "benchmarks", *STUDY_MODULES),
    }


def hash_of(*places) -> str:
    """The sha256 of source files and of all sources in folders, in the given order, sorted inside a folder.

    Comments count: the hash is of the contents.
    """
    digest = hashlib.sha256()
    for place in map(Path, places):
        folder = place if place.is_dir() else place.parent
        found = folder.rglob("*") if place.is_dir() else [place]
        sources = (path for path in found if path.suffix in (".py", ".cu", ".cuh"))
        for name, path in sorted((path.relative_to(folder).as_posix(), path) for path in sources):
            # Line endings may differ between checkouts of the same code.
            source = path.read_bytes().replace(b"\r\n", b"\n")
            digest.update(f"{name} {len(source)}\n".encode() + source)
    return digest.hexdigest()
