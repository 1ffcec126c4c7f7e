"""Where and on what code a measurement was made."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import numba
import numpy
import scipy

ROOT = Path(__file__).resolve().parent.parent
BACKENDS = ROOT / "linforest_precond" / "backends"
UNKNOWN = "unknown"


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
    """The sha256 of each backend and of this program, over the names and contents of their sources."""
    return {
        "cuda": hash_of(BACKENDS / "cuda"),
        "cpu": hash_of(BACKENDS / "cpu"),
        "benchmarks": hash_of(ROOT / "benchmarks"),
    }


def hash_of(folder) -> str:
    """The sha256 of the sources in a folder, by relative path."""
    sources = (path for path in Path(folder).rglob("*") if path.suffix in (".py", ".cu", ".cuh"))
    digest = hashlib.sha256()
    for name, path in sorted((path.relative_to(folder).as_posix(), path) for path in sources):
        # A checkout may have other line ends; the code is the same.
        source = path.read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{name} {len(source)}\n".encode() + source)
    return digest.hexdigest()


def commit() -> str:
    """What LINFOREST_COMMIT says, or git; edits that are not committed show in the hashes."""
    return os.environ.get("LINFOREST_COMMIT") or _output("git", "-C", ROOT, "rev-parse", "HEAD")


def machine(device) -> dict:
    found = {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": _memory_gib(),
        "system": f"{platform.system()} {platform.machine()}",
    }
    return {**found, **_gpu()} if device == "cuda" else found


def versions(device) -> dict:
    found = {
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "numba": numba.__version__,
    }
    return {**found, **_cuda_versions()} if device == "cuda" else found


def _cuda_versions():
    import cupy

    number = cupy.cuda.runtime.runtimeGetVersion()
    return {"cupy": cupy.__version__, "cuda_runtime": f"{number // 1000}.{number % 1000 // 10}"}


def _gpu():
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
    driver = _output("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader").partition("\n")[0]
    return {
        "gpu": properties["name"].decode(),
        "gpu_memory_gib": round(properties["totalGlobalMem"] / 2**30, 1),
        "driver": driver,
    }


def _cpu_model():
    try:
        return re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)[1]
    except (OSError, TypeError):
        return platform.processor() or UNKNOWN


def _memory_gib():
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, ValueError, OSError):
        return UNKNOWN


def _output(*command):
    """What a command prints; "unknown" where it is not there or fails."""
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return UNKNOWN
    return done.stdout.strip() if done.returncode == 0 and done.stdout.strip() else UNKNOWN
