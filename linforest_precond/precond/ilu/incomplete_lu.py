"""ILU(0) and IC(0) preconditioners."""

from __future__ import annotations

import numpy.typing as npt

from linforest_precond.annotations import MatrixLike
from linforest_precond.arguments import as_integer
from linforest_precond.precond.ilu.ilu_part import IluPart
from linforest_precond.precond.ilu.ilu_schema import MOST_SWEEPS
from linforest_precond.precond.ilu.row_orders import ORDERS, schedule_rows
from linforest_precond.precond.operators import Preconditioner
from linforest_precond.precond.setup import Setup
from linforest_precond.user_warnings import without_numpy_warnings


@without_numpy_warnings
def ilu(
    A: MatrixLike,
    *,
    order: str = "auto",
    sweeps: int | None = None,
    dtype: npt.DTypeLike | None = None,
    seed: int = 0,
) -> Preconditioner:
    """Solve with incomplete LU factors of A."""
    if order not in ("auto", *ORDERS):
        raise ValueError(f"order must be one of 'auto', {', '.join(map(repr, ORDERS))}, got {order!r}")
    if sweeps is not None:
        sweeps = as_integer("sweeps", sweeps)
        if not 0 <= sweeps <= MOST_SWEEPS:
            raise ValueError(f"sweeps must be None or lie in [0, {MOST_SWEEPS}], got {sweeps}")
    seed = as_integer("seed", seed) % 2**64
    setup = Setup(A, dtype)
    schedule = schedule_rows(setup.csr, order, seed)
    return setup.operator(IluPart.of(setup.csr, setup.stored, schedule, sweeps))
