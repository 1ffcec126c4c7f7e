"""The cost model: seconds of setups, iterations and factorizations, from counted bytes, calls and flops.

A setup or an application is a number of calls and of products with A; an iteration moves counted bytes. A
machine's bandwidth, its time of a call and its rate of a factorization turn them into seconds, so that the
same counts serve other machines, and the choice repeats as long as these numbers stay the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from linforest_precond.backends.annotations import DType
from linforest_precond.chooser.machine import Machine
from linforest_precond.matrix.checked import CheckedMatrix


class Cost(NamedTuple):
    """Calls, and products with A, that take as long."""

    calls: float
    products: float


class SymbolicCost(NamedTuple):
    """Calls, and bytes that could be copied meanwhile for each row and each entry."""

    calls: float
    row: float
    entry: float


class IterationCost(NamedTuple):
    """Products with A, applications of M, and vectors that are moved by an iteration of a Krylov method."""

    products: int
    applications: int
    vectors: int


# Of an order of elimination, by entries of A, and of a factorization, by entries of the factors; of cuDSS's
# analysis; and of both substitutions.
ORDER, FACTORS = SymbolicCost(1100, 3900, 430), SymbolicCost(1700, 9600, 470)
ANALYSIS, SUBSTITUTION = SymbolicCost(30_000, 80_000, 0), SymbolicCost(100, 0, 60)
# Seconds that iterations on a GPU are expected to need before the host is asked, unless A looks hard.
CROSSING = 0.05
# Entries of the factors, in units of those of A, at most, before they are counted.
MOST_FILL = 5.0
# Of a matching of rows and columns with large entries.
MATCHING = Cost(5000, 600)
METHODS = {
    "cg": IterationCost(1, 1, 11),
    "fcg": IterationCost(1, 1, 13),
    "bicgstab": IterationCost(2, 2, 17),
    "minres": IterationCost(1, 1, 16),
}
# Calls of an iteration, and for each of its products with A.
ITERATION_CALLS = {"cpu": (0, 140), "cuda": (2, 1)}


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

    rows: int
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
        return cls(A.n, A.nnz, moved, vector, machine, host, A.backend.name)

    def seconds(self, cost: Cost) -> float:
        """Of calls and products."""
        return cost.calls * self.machine.call + cost.products * self.product / self.machine.bandwidth

    def iteration(self, method: str, application: Cost) -> float:
        """Of an iteration, given the cost of an application of M."""
        parts = METHODS[method]
        own, for_product = ITERATION_CALLS[self.backend]
        calls = (own + parts.products * for_product) * self.machine.call
        moved = parts.products * self.product + parts.vectors * self.vector
        return calls + moved / self.machine.bandwidth + parts.applications * self.seconds(application)

    def ordering(self, easy: bool) -> float:
        """Of an order of elimination and its fill, on the host: an easy matrix on a GPU hardly needs it."""
        crossing = CROSSING if easy and self.backend != "cpu" else 0.0
        return crossing + self._symbolic(ORDER, self.entries)

    @property
    def expected_entries(self) -> float:
        """Of the factors, before they are counted: eliminating a vertex couples its neighbours."""
        return min(self.entries / max(self.rows, 1), MOST_FILL) * self.entries

    def factorization(self, entries: float, flops: float) -> float:
        """Of factors with a number of entries and flops, on the host."""
        return self._symbolic(FACTORS, entries) + flops / self.host.flops

    def factorization_on_gpu(self, flops: float) -> float:
        """By cuDSS, whose analysis is on the host."""
        return self._symbolic(ANALYSIS, 0) + flops / self.machine.flops

    def matching(self) -> float:
        """Of a matching of rows and columns."""
        return self.seconds(MATCHING)

    def substitution(self, entries: float) -> float:
        """Of both substitutions with factors."""
        return self._symbolic(SUBSTITUTION, entries)

    def flops_in(self, seconds: float, on_host: bool = True) -> float:
        """Flops of a Cholesky factorization whose LU factorization takes `seconds`."""
        return 0.5 * seconds * (self.host.flops if on_host else self.machine.flops)

    def _symbolic(self, cost: SymbolicCost, entries: float) -> float:
        moved = cost.row * self.rows + cost.entry * entries
        return cost.calls * self.host.call + moved / self.host.bandwidth
