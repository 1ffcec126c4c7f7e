"""The numbers of a machine that predict seconds: measured once and kept, or a table of defaults.

Three numbers are measured for the CPU in about 0.2 seconds, two for a GPU. The file ``calibration.json`` in
the cache folder keeps them, by the machine's name; `Machine.of` reads it.
"""

from __future__ import annotations

import json
import math
import os
import platform
import timeit
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
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
from linforest_precond.matrices.generators.grids import poisson
from linforest_precond.matrices.readers.atomic_files import write_text


@dataclass(frozen=True)
class Machine:
    """What work takes on one machine with one backend.

    Attributes
    ----------
    bandwidth
        Bytes a second of products with A.
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


@cache
def _kept(backend_name: str) -> Machine:
    """The numbers in the file, or new ones, which are written to it where that is possible."""
    backend = backend_named(backend_name)
    name = f"{backend.name}: {_machine_name(backend)}"
    path = cache_folder() / "calibration.json"
    known = _read(path)
    with suppress(KeyError, TypeError, ValueError):
        numbers = [float(known[name][field]) for field in ("bandwidth", "call", "flops")]
        if all(0 < number < math.inf for number in numbers):
            return Machine(*numbers)
    machine = _measured_on_cpu() if backend.xp is np else _measured_on_gpu(backend)
    with suppress(OSError):  # in a read-only folder, the next process measures again
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps({**known, name: asdict(machine)}, indent=1))
    return machine


def _machine_name(backend: Backend) -> str:
    threads = os.environ.get("NUMBA_NUM_THREADS", os.cpu_count())
    host = f"{platform.node()}, {platform.machine()}, {threads} threads, measured by products"
    return host if backend.xp is np else f"{host}, GPU {backend.xp.cuda.Device().pci_bus_id}"


def _read(path: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        known = json.loads(path.read_text(encoding="utf-8"))
        return known if isinstance(known, dict) else {}
    return {}


def _measured_on_cpu() -> Machine:
    few = np.zeros(8)
    grid = sp.csc_matrix(poisson((12, 12, 12)))
    calls = min(timeit.repeat(lambda: np.add(few, few, few), number=1000, repeat=3))
    factor = min(timeit.repeat(lambda: splu(grid, permc_spec="MMD_AT_PLUS_A"), number=1, repeat=3))
    # The default machine factors the grid in 0.057 s.
    return Machine(_product_bandwidth(), calls / 1000, DEFAULTS["cpu"].flops * 0.057 / factor)


def _product_bandwidth(rows: int = 500_000) -> float:
    """Bytes a second of products with a band matrix that exceeds the caches, by two threads where there are.

    SciPy's product needs no compilation, and threads can call it at once. More than two gain less, the more
    the memory limits them.
    """
    threads = 1 if os.environ.get("NUMBA_NUM_THREADS") == "1" else min(2, os.cpu_count() or 1)
    columns = (np.arange(rows, dtype=np.int32)[:, None] + np.arange(5, dtype=np.int32)) % rows
    arrays = np.ones(5 * rows), columns.ravel(), np.arange(0, 5 * rows + 1, 5, dtype=np.int32)
    bands, x = sp.csr_matrix(arrays, shape=(rows, rows)), np.ones(rows)
    with ThreadPoolExecutor(threads) as pool:
        seconds = min(timeit.repeat(lambda: list(pool.map(bands.dot, [x] * threads)), number=1, repeat=4))
    moved = sum(array.nbytes for array in arrays) + 2 * x.nbytes
    return threads * moved / seconds


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
    # Products reach 0.85 of a copy's bandwidth.
    return replace(DEFAULTS["cuda"], bandwidth=0.85 * 2 * source.nbytes / copy, call=calls / 200)
