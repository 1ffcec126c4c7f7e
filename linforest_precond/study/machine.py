"""Processor, memory and GPU of the machine, and versions of the software."""

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
from linforest_precond.study.results import JsonObject

UNKNOWN = "unknown"
ROOT = Path(__file__).resolve().parents[2]
CPU_INFO = Path("/proc/cpuinfo")


def surroundings(device: str) -> JsonObject:
    """Machine, versions and commit as in a study; `gpu` and the version of CuPy are None on the CPU."""
    found = machine(device)
    return {
        "processor": found["cpu"],
        "cores": found["cores"],
        "gpu": found.get("gpu"),
        "memory_gib": found["memory_gib"],
        "system": found["system"],
        "versions": {"cupy": None, **versions(device), "linforest_precond": linforest_precond.__version__},
        "commit": commit(),
    }


def commit() -> str:
    """The commit by LINFOREST_COMMIT, or by git in a checkout; uncommitted edits are not seen."""
    # An installed package may lie in the checkout of another project.
    found = output_of("git", "-C", ROOT, "rev-parse", "HEAD") if (ROOT / ".git").exists() else UNKNOWN
    return os.environ.get("LINFOREST_COMMIT") or found


def machine(device: str) -> JsonObject:
    """Processor, cores and memory; on the GPU its name, memory and driver too."""
    found = {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": _memory_gib(),
        "system": f"{platform.system()} {platform.machine()}",
    }
    return {**found, **_gpu()} if device == "cuda" else found


def versions(device: str) -> JsonObject:
    """Versions of Python and of the libraries in use."""
    found = {
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "numba": numba.__version__,
    }
    return {**found, **_cuda_versions()} if device == "cuda" else found


def _cuda_versions() -> dict[str, str]:
    import cupy

    number = cupy.cuda.runtime.runtimeGetVersion()
    return {"cupy": cupy.__version__, "cuda_runtime": f"{number // 1000}.{number % 1000 // 10}"}


def _gpu() -> JsonObject:
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
    driver = output_of("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader").partition("\n")[0]
    return {
        "gpu": properties["name"].decode(),
        "gpu_memory_gib": round(properties["totalGlobalMem"] / 2**30, 1),
        "driver": driver,
    }


def _cpu_model() -> str:
    """The processor's name; on ARM, Linux has it in `lscpu` alone, and macOS in `sysctl`."""
    try:
        text = CPU_INFO.read_text()
    except OSError:
        text = ""
    found = _named("model name", text) or _named("Model name", output_of("lscpu"))
    found = found or output_of("sysctl", "-n", "machdep.cpu.brand_string")
    if found != UNKNOWN:
        return found
    architecture = platform.machine()
    other = platform.processor()
    return other if other not in ("", architecture) else _arm_core(text) or architecture or UNKNOWN


def _named(key: str, text: str) -> str:
    """The value of a line "key : value"; empty where there is none, or nothing but a dash."""
    found = re.search(rf"^{key}[ \t]*:[ \t]*(.+)$", text, re.MULTILINE)
    return found[1].strip().strip("-") if found else ""


def _arm_core(text: str) -> str:
    """The numbers of an ARM core, by which it is known where it has no name."""
    numbers = [_named(key, text) for key in ("CPU implementer", "CPU part")]
    return "ARM core, implementer {}, part {}".format(*numbers) if all(numbers) else ""


def _memory_gib() -> float | str:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, ValueError, OSError):
        return UNKNOWN


def output_of(*command: object) -> str:
    """The standard output of a command; "unknown" where it does not exist or fails."""
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return UNKNOWN
    return done.stdout.strip() if done.returncode == 0 and done.stdout.strip() else UNKNOWN
