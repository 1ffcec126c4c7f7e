"""The machine a measurement was made on, and the versions of what ran there."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path

import numba
import numpy
import scipy

import linforest_precond

UNKNOWN = "unknown"


def surroundings(device) -> dict:
    """Machine and versions as a study keeps them; `gpu` and the version of CuPy are None on the CPU.

    Examples
    --------
    >>> from linforest_precond.study.machine import surroundings
    >>> found = surroundings("cpu")
    >>> found["gpu"], found["versions"]["cupy"], found["cores"] > 0
    (None, None, True)
    """
    found = machine(device)
    return {
        "processor": found["cpu"],
        "cores": found["cores"],
        "gpu": found.get("gpu"),
        "memory_gib": found["memory_gib"],
        "system": found["system"],
        "versions": {"cupy": None, **versions(device), "linforest_precond": linforest_precond.__version__},
    }


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
    driver = output_of("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader").partition("\n")[0]
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


def output_of(*command):
    """What a command prints; "unknown" where it is not there or fails."""
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return UNKNOWN
    return done.stdout.strip() if done.returncode == 0 and done.stdout.strip() else UNKNOWN
