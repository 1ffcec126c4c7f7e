"""The state of a preconditioner: what its class is called with; packed as plain values and host arrays."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linforest_precond.backends import Backend, backend_named, cuda_status
from linforest_precond.backends.annotations import DType
from linforest_precond.backends.user_warnings import warn_user
from linforest_precond.precond.kinds import kind_named
from linforest_precond.precond.part import Part
from linforest_precond.precond.pattern_digest import PatternDigest
from linforest_precond.precond.scaling.scaled_part import ScaledPart
from linforest_precond.precond.storage.state import HostArrays, checked_state, pack, unpack


class OperatorState(NamedTuple):
    """All that a `Preconditioner` is made of; the part is that of A 2**-exponent.

    `symmetry`, as `CheckedMatrix.rounding_in_words`, is for print alone and not stored. `systems` are the
    number of systems in a stack and the rows of each.
    """

    part: Part
    pattern: PatternDigest
    dtype: DType
    setup: SetupTime
    backend: Backend
    device: object
    exponent: int
    symmetry: str = ""
    systems: tuple[int, int] | None = None


def packed_state(state: OperatorState) -> tuple[dict[str, Any], HostArrays]:
    """A header of plain values, and host arrays."""
    arrays: HostArrays = {}
    header = {
        "backend": state.backend.name,
        "dtype": str(state.dtype),
        "setup": [state.setup.milliseconds, state.setup.first],
        "exponent": state.exponent,
        "systems": pack(state.systems, "systems", arrays),
        "pattern": pack(state.pattern, "pattern", arrays),
        "scaling": pack(getattr(state.part, "scaling", None), "scaling", arrays),
        "part": pack(state.part.state(), "part", arrays),
    }
    return header, arrays


def restored_state(kind: str, packed: tuple[dict[str, Any], HostArrays], source: str) -> OperatorState:
    """The state that was packed, on the GPU if it was there and a GPU is usable.

    All of it is checked on the host before any of it is used; `PreconditionerFileError` names the source.
    """
    header, arrays = checked_state(kind, packed, source)
    backend = _restored_backend(header["backend"])
    names = "pattern", "scaling", "part", "systems"
    pattern, scaling, fields_of_part, systems = (unpack(header[name], arrays, backend.xp) for name in names)
    with warnings.catch_warnings():  # the user was warned when it was made
        warnings.simplefilter("ignore", RuntimeWarning)
        part = kind_named(kind).restore(**fields_of_part)
    part = part if scaling is None else ScaledPart(part, scaling)
    milliseconds, first = header["setup"]
    setup = SetupTime(lambda: milliseconds, first)
    device = getattr(pattern.digest, "device", None)
    own = pattern, np.dtype(header["dtype"]), setup, backend, device
    return OperatorState(part, *own, header["exponent"], systems=systems)


def _restored_backend(name: str) -> Backend:
    if name == "cuda":
        usable, reason = cuda_status()
        if usable:
            return backend_named("cuda")
        warn_user(f"the preconditioner was made on a GPU and is restored on the CPU: {reason}")
    return backend_named("cpu")


class SetupTime:
    """The time of a setup, read from a stopwatch on demand, and whether it includes compilation."""

    def __init__(self, read: Callable[[], float], first: bool = False):
        self._read = read
        self.first = first

    @functools.cached_property
    def milliseconds(self) -> float:
        return float(self._read())

    def __str__(self) -> str:
        return f"{self.milliseconds:.3f} ms" + (" with compilation" if self.first else "")
