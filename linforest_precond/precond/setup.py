"""`Setup` checks A, times the setup of a preconditioner, and makes the operator of its part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy.typing as npt

from linforest_precond.backends import backend_of
from linforest_precond.backends.annotations import DType, MatrixLike
from linforest_precond.matrix.block_diagonal import stacked
from linforest_precond.matrix.checked import Begin, CheckedMatrix, checked
from linforest_precond.precond.parts.number_types import stored_dtype
from linforest_precond.precond.parts.part import OperatorState, Part, SetupTime
from linforest_precond.precond.preconditioner import Preconditioner, operator_of
from linforest_precond.precond.scaling.matrix_scaling import MatrixScaling
from linforest_precond.precond.scaling.number_range import scaled_into_range
from linforest_precond.precond.scaling.scaled_part import ScaledPart
from linforest_precond.precond.scaling.scaling import check_scaling, scaling_of

# Kinds, backends and types of earlier setups in this process: the first setup of each compiles.
_seen: set[tuple[Any, ...]] = set()


class Setup:
    """The setup of a preconditioner: checks A, and makes an operator of a part; both are timed.

    `values` are those of a stack of systems with A's pattern, which are set up as one block diagonal matrix.
    `begin` is an argument of `checked`, for setups without scaling. `choose` gives the type to store numbers
    in, for the checked matrix and `dtype`; by default it is `dtype`, or else the matrix's own. With
    `keep_symmetric`, a matching of a symmetric matrix pairs rows instead of permuting them. `given` is the
    checked matrix; `csr` is the same, permuted and scaled by `scaling`, and by a power of two where its
    entries are at the edge of the number range.
    """

    def __init__(
        self,
        A: MatrixLike,
        dtype: npt.DTypeLike | None,
        *,
        values: npt.ArrayLike | None = None,
        shared: bool = False,
        begin: Begin | None = None,
        choose: Callable[[CheckedMatrix, npt.DTypeLike | None], DType] | None = None,
        scaling: str | MatrixScaling | None = None,
        keep_symmetric: bool = True,
    ):
        check_scaling(scaling)
        self._watch = backend_of(A).runtime.streams.Stopwatch()
        self._systems = None
        if values is not None:
            A, self._systems = stacked(A, values)
        self.given = csr = checked(A, shared=shared, begin=begin)
        self._pattern = csr.digest  # launched early, while the device is busy
        self.stored = stored_dtype(dtype, csr.data.dtype) if choose is None else choose(csr, dtype)
        self._in_range, self._exponent = scaled_into_range(csr, self.stored)
        self._keep_symmetric = keep_symmetric
        self.scale(scaling)

    def scale(self, scaling: str | MatrixScaling | None) -> None:
        """Set `scaling` and `csr`, also in place of earlier ones."""
        csr = self._in_range
        self.scaling = None if scaling is None else scaling_of(csr, scaling, self._keep_symmetric)
        self.csr = csr if self.scaling is None else self.scaling.applied(csr)

    def operator(self, part: Part) -> Preconditioner:
        """The operator that applies the part; stops the setup's stopwatch."""
        csr, backend = self.csr, self.csr.backend
        part = part if self.scaling is None else ScaledPart(part, self.scaling)
        self._watch.stop()
        types = part.name, backend.name, self.stored, csr.data.dtype, csr.indices.dtype
        time = SetupTime(self._watch.milliseconds, first=types not in _seen)
        _seen.add(types)
        device = getattr(csr.data, "device", None)
        words = self.given.rounding_in_words
        own = self._pattern, csr.data.dtype, time, backend, device
        return operator_of(OperatorState(part, *own, self._exponent, words, self._systems))
