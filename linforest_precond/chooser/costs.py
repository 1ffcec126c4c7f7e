"""The cost model: seconds of setups, iterations and factorizations, from counted bytes, calls and flops.

A setup is a number of calls and a number of products with A; an iteration moves counted bytes. A machine's
bandwidth, its time of a call and its rate of a factorization turn them into seconds, so that the same counts
serve the CPU and GPUs, and the choice repeats as long as these numbers stay the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from linforest_precond.backends.annotations import DType
from linforest_precond.chooser.machine import Machine
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.precond.kinds import kind_named
from linforest_precond.precond.number_types import held_bytes
from linforest_precond.precond.preconditioner import Preconditioner
from linforest_precond.precond.scaling.scaled_part import ScaledPart

# Of a sparse factorization: bytes that an entry of the factors stands for, and an entry of A in the order.
FACTOR_BYTES, ORDER_BYTES = 800, 800
# Calls of the setup of factors.
FACTOR_CALLS = 2000
# Floating-point operations of a dense inverse that take as long as one of a sparse factorization.
DENSE_FLOPS = 4


class Cost(NamedTuple):
    """Calls, and products with A, that take as long."""

    calls: float
    products: float


class IterationCost(NamedTuple):
    """An iteration of a Krylov method: products with A and with M, vectors that are moved, and calls."""

    products: int
    applications: int
    vectors: int


METHODS = {
    "cg": IterationCost(1, 1, 11),
    "fcg": IterationCost(1, 1, 13),
    "bicgstab": IterationCost(2, 2, 17),
    "minres": IterationCost(1, 1, 16),
    "idrs": IterationCost(1, 1, 25),  # with 4 shadow vectors
}
# Calls of an iteration beside those of M.
ITERATION_CALLS = 15


@dataclass(frozen=True)
class CostModel:
    """Seconds of all work on one system.

    Attributes
    ----------
    product, vector
        Bytes of a product with A, and of the right-hand sides together.
    machine, host
        The machine's numbers, and those of its CPU.
    """

    entries: int
    product: float
    vector: float
    machine: Machine
    host: Machine
    backend: str

    @classmethod
    def of(cls, A: CheckedMatrix, dtype: DType, columns: int, machine: Machine, host: Machine) -> CostModel:
        vector = A.n * columns * dtype.itemsize
        entries = A.nnz * (A.data.dtype.itemsize + A.indices.dtype.itemsize)
        moved = entries + A.indptr.nbytes + 2 * vector
        return cls(A.nnz, moved, vector, machine, host, A.backend.name)

    def seconds(self, cost: Cost) -> float:
        """Of calls and products."""
        return cost.calls * self.machine.call + cost.products * self.product / self.machine.bandwidth

    def iteration(self, method: str, application: float) -> float:
        """Of an iteration, given the seconds of an application of M."""
        parts = METHODS[method]
        moved = parts.products * self.product + parts.vectors * self.vector
        calls = ITERATION_CALLS * max(parts.products, 1) * self.machine.call
        return moved / self.machine.bandwidth + parts.applications * application + calls

    def application(self, M: Preconditioner) -> float:
        """Of one application of M, which is set up."""
        part: Any = M._part
        moved = 2.0 * self.vector
        if isinstance(part, ScaledPart):
            moved, part = moved + held_bytes(part.scaling) + 2 * self.vector, part.inner
        kind = kind_named(part.kind)
        seconds, efficiency = kind.application_on(self.backend)
        return seconds + (moved + kind.bytes_moved(part) / efficiency) / self.machine.bandwidth

    def ordering(self) -> float:
        """Of an order of elimination and its fill, on the host."""
        return self.entries * ORDER_BYTES / self.host.bandwidth

    def factorization(self, entries: float, flops: float, on_host: bool = True) -> float:
        """Of factors with a number of entries and flops; their analysis is the host's on a GPU, too."""
        rate = self.host.flops if on_host else self.machine.flops
        return entries * FACTOR_BYTES / self.host.bandwidth + flops / rate + FACTOR_CALLS * self.machine.call

    def flops_in(self, seconds: float, on_host: bool = True) -> float:
        """Flops of a Cholesky factorization whose LU factorization takes `seconds`."""
        return 0.5 * seconds * (self.host.flops if on_host else self.machine.flops)

    def inversion(self, rows: float) -> float:
        """Of a dense matrix, as that of a coarsest level."""
        return 2 * rows**3 / (DENSE_FLOPS * self.machine.flops)
