"""Where and on what code a measurement was made."""

from __future__ import annotations

import hashlib
import os
from datetime import UTC, datetime
from pathlib import Path

from linforest_precond.study.machine import machine, output_of, versions

ROOT = Path(__file__).resolve().parent.parent
BACKENDS = ROOT / "linforest_precond" / "backends"
SOLVERS = ROOT / "solvers"  # run on both backends
STUDY = ROOT / "linforest_precond" / "study"
# What the benchmarks share with the study.
SHARED = tuple(STUDY / f"{name}.py" for name in ("launches", "machine", "recording", "timing"))


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
    """The sha256 of each backend with the solvers, and of this program, over their sources."""
    return {
        "cuda": hash_of(BACKENDS / "cuda", SOLVERS),
        "cpu": hash_of(BACKENDS / "cpu", SOLVERS),
        "benchmarks": hash_of(ROOT / "benchmarks", *SHARED),
    }


def hash_of(*places) -> str:
    """The sha256 of files and of the sources in folders, one place after the other, by relative path."""
    digest = hashlib.sha256()
    for place in map(Path, places):
        folder = place if place.is_dir() else place.parent
        found = folder.rglob("*") if place.is_dir() else [place]
        sources = (path for path in found if path.suffix in (".py", ".cu", ".cuh"))
        for name, path in sorted((path.relative_to(folder).as_posix(), path) for path in sources):
            # A checkout may have other line ends; the code is the same.
            source = path.read_bytes().replace(b"\r\n", b"\n")
            digest.update(f"{name} {len(source)}\n".encode() + source)
    return digest.hexdigest()


def commit() -> str:
    """What LINFOREST_COMMIT says, or git; edits that are not committed show in the hashes."""
    return os.environ.get("LINFOREST_COMMIT") or output_of("git", "-C", ROOT, "rev-parse", "HEAD")
