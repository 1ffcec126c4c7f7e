"""The calibration of a machine: bandwidth, call time and factorization rate, measured once, or defaults.

The file ``calibration.json`` in the cache folder keeps what `backends/*/runtime/calibration.py` measured.
"""

from __future__ import annotations

import json
import math
import os
import platform
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from linforest_precond.backends import Backend, backend_named
from linforest_precond.matrices.download.places import cache_folder
from linforest_precond.matrices.readers.atomic_files import write_text
from linforest_precond.matrices.readers.bounded_streams import open_bounded


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
            return cls(*backend.runtime.calibration.DEFAULTS)
        return _kept(backend.name)


@cache
def _kept(backend_name: str) -> Machine:
    """The numbers in the file, or new ones, which are written to it where that is possible."""
    backend = backend_named(backend_name)
    name = f"{backend.name}: {_machine_name(backend)}"
    path = cache_folder() / "calibration.json"
    known: dict[str, Any] = {}
    with suppress(OSError, TypeError, ValueError):
        with open_bounded(path) as file:
            known = dict(json.loads(file.read()))
    with suppress(KeyError, TypeError, ValueError):
        numbers = [float(known[name][field]) for field in ("bandwidth", "call", "flops")]
        if all(0 < number < math.inf for number in numbers):
            return Machine(*numbers)
    numbers, is_idle = backend.runtime.calibration.measured()
    machine = Machine(*numbers)
    if not is_idle:  # the next process measures again, as in a read-only folder
        return machine
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps({**known, name: asdict(machine)}, indent=1))
    return machine


def _machine_name(backend: Backend) -> str:
    threads = os.environ.get("NUMBA_NUM_THREADS", os.cpu_count())
    host = f"{platform.node()}, {platform.machine()}, {threads} threads, measured by products"
    return host + backend.runtime.calibration.device()
