"""The numbers of a machine that predict seconds: measured once and kept, or a table of defaults.

Three numbers are measured for the CPU in about 0.1 seconds, two for a GPU. The file ``calibration.json`` in
the cache folder keeps them, by the machine's name; `Machine.of` reads it.
"""

from __future__ import annotations

import json
import math
import os
import platform
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from linforest_precond.backends import Backend, backend_named
from linforest_precond.matrices.download.places import cache_folder
from linforest_precond.matrices.readers.atomic_files import write_text

CALIBRATIONS = ("measured", "default")


@dataclass(frozen=True)
class Machine:
    """What work takes on one machine with one backend.

    Attributes
    ----------
    bandwidth
        Bytes a second of products with A: a share of what a copy reads and writes.
    call
        Seconds of a call of a function of NumPy, or of a kernel's launch, on a few numbers.
    flops
        Floating-point operations a second of a sparse factorization on the CPU, or by cuDSS on a GPU.
    """

    bandwidth: float
    call: float
    flops: float

    @classmethod
    def of(cls, backend: Backend, calibration: str = "measured") -> Machine:
        """The numbers of this machine, or with "default" those of the machines that rules were fitted on."""
        if calibration == "default" or os.environ.get("LINFOREST_CALIBRATION") == "default":
            return DEFAULTS[backend.name]
        return _kept(backend.name)


# Two cores of an Arm Neoverse N1; one NVIDIA H200.
DEFAULTS = {"cpu": Machine(1.4e10, 6.4e-7, 4.7e9), "cuda": Machine(3.2e12, 1e-5, 1e12)}
# The share of a copy's bandwidth that products reach.
COPY_SHARE = {"cpu": 0.45, "cuda": 0.85}


@cache
def _kept(backend_name: str) -> Machine:
    """The numbers in the file, or new ones, which are written to it where that is possible."""
    backend = backend_named(backend_name)
    name = f"{backend.name}: {_machine_name(backend)}"
    path = cache_folder() / "calibration.json"
    known = _read(path)
    try:
        numbers = {field: float(known[name][field]) for field in ("bandwidth", "call", "flops")}
    except (KeyError, TypeError, ValueError):
        numbers = {}
    if numbers and all(0 < number < math.inf for number in numbers.values()):
        return Machine(**numbers)
    machine = _MEASURES[backend.name](backend)
    _write(path, {**known, name: asdict(machine)})
    return machine


def _machine_name(backend: Backend) -> str:
    threads = os.environ.get("NUMBA_NUM_THREADS", os.cpu_count())
    host = f"{platform.node()}, {platform.machine()}, {threads} threads"
    return host if backend.xp is np else f"{host}, GPU {backend.xp.cuda.Device().pci_bus_id}"


def _read(path: Path) -> dict[str, Any]:
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _write(path: Path, known: dict[str, Any]) -> None:
    """Keep the numbers; in a read-only folder the next process measures again."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(known, indent=1))


def _fastest(work: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def _measured_on_cpu(backend: Backend) -> Machine:
    source, target = np.ones((2, 4_000_000))
    few = np.zeros(8)
    copy = _fastest(lambda: np.copyto(target, source), 4)
    calls = _fastest(lambda: [np.add(few, few, few) for _ in range(1000)], 3)
    line = sp.diags_array([-np.ones(11), 2.0 * np.ones(12), -np.ones(11)], offsets=[-1, 0, 1])
    eye = sp.eye_array(12)
    grid = sum(
        sp.kron(sp.kron(a, b), c) for a, b, c in ((line, eye, eye), (eye, line, eye), (eye, eye, line))
    )
    factor = _fastest(lambda: splu(sp.csc_matrix(grid), permc_spec="MMD_AT_PLUS_A"), 3)
    default = DEFAULTS["cpu"]
    bandwidth = COPY_SHARE["cpu"] * 2 * source.nbytes / copy
    return Machine(bandwidth, calls / 1000, default.flops * GRID_SECONDS / factor)


# The factorization of the grid that is timed, on the machine of the default table.
GRID_SECONDS = 0.057


def _measured_on_gpu(backend: Backend) -> Machine:
    xp, streams = backend.xp, backend.runtime.streams

    def timed(work: Callable[[], object]) -> float:
        watch = streams.Stopwatch()
        work()
        watch.stop()
        return float(watch.milliseconds()) / 1e3

    source, target, few = xp.ones(32_000_000), xp.ones(32_000_000), xp.zeros(8)
    works = (lambda: xp.copyto(target, source)), (lambda: [xp.add(few, few, few) for _ in range(200)])
    copy, calls = (min(timed(work) for _ in range(4)) for work in works)
    bandwidth = COPY_SHARE["cuda"] * 2 * source.nbytes / copy
    return replace(DEFAULTS["cuda"], bandwidth=bandwidth, call=calls / 200)


_MEASURES = {"cpu": _measured_on_cpu, "cuda": _measured_on_gpu}
