"""The cost model: seconds of setups, iterations and factorizations, from counted bytes, calls and flops.

A machine's bandwidth, its time of a call and its rate of a factorization turn counts into seconds, so that
the same counts serve other machines, and the choice repeats as long as these numbers stay the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from linforest_precond.backends import Backend
from linforest_precond.chooser.machine import Machine
from linforest_precond.precond.kinds import Cost
from linforest_precond.solvers.bicgstab import Bicgstab
from linforest_precond.solvers.cg import Cg, Fcg
from linforest_precond.solvers.minres import Minres


class KrylovMethod(NamedTuple):
    """An iteration makes `products` with A, as many with M, and moves `vectors`."""

    make: Callable[[], Any]
    products: int
    vectors: int


METHODS = {
    "cg": KrylovMethod(Cg, 1, 11),
    "fcg": KrylovMethod(Fcg, 1, 13),
    "bicgstab": KrylovMethod(Bicgstab, 2, 17),
    "minres": KrylovMethod(Minres, 1, 16),
}
# Of a matching of rows and columns with large entries.
MATCHING = Cost(5000, 600)


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
    backend: Backend

    @classmethod
    def of_sizes(
        cls,
        rows: int,
        entries: int,
        types: tuple[int, int, int],
        columns: int,
        machine: Machine,
        host: Machine,
        backend: Backend,
    ) -> CostModel:
        """Of a size; `types` has the bytes of a value, an index and a number of a vector."""
        value, index, number = types
        vector = rows * columns * number
        moved = entries * (value + index) + (rows + 1) * index + 2 * vector
        return cls(rows, entries, moved, vector, machine, host, backend)

    def seconds(self, cost: Cost) -> float:
        return cost.calls * self.machine.call + cost.products * self.product / self.machine.bandwidth

    def iteration(self, method: str, application: Cost) -> float:
        """Of an iteration, given the cost of an application of M."""
        _, products, vectors = METHODS[method]
        machine = self.backend.runtime.calibration
        calls = machine.CALLS + machine.CALLS_OF_PRODUCT * products
        moved = products * self.product + vectors * self.vector
        own = calls * self.machine.call + moved / self.machine.bandwidth
        return own + products * self.seconds(application)

    def expected_factors(self, easy: bool, separator: float = 0.0) -> float:
        """Of an order of elimination and factors on the host, before their fill is counted.

        Eliminating a vertex couples its neighbours: as many times the entries of A as a row has, at most
        five; and at least the dense block of a separator.
        """
        entries = min(self.entries / max(self.rows, 1), 5.0) * self.entries
        factors = self.factorization(max(entries, separator**2), 2 / 3 * separator**3)
        return self.counting(easy) + factors

    def counting(self, easy: bool) -> float:
        """Of an order of elimination and its fill. An easy matrix on a GPU hardly needs factors: the host is
        asked where iterations take longer than the way there."""
        crossing = self.backend.runtime.calibration.CROSSING if easy else 0.0
        return crossing + (1100 + 0.435 * self.rows + 0.048 * self.entries) * self.host.call

    def factorization(self, entries: float, flops: float) -> float:
        """Of factors with a number of entries and flops, on the host."""
        calls = 1700 + 1.07 * self.rows + 0.0525 * entries
        return calls * self.host.call + flops / self.host.flops

    def factorization_on_gpu(self, flops: float, is_analyzed: bool = False) -> float:
        """By cuDSS, whose analysis is on the host."""
        analysis = 0.0 if is_analyzed else (30_000 + 8.9 * self.rows) * self.host.call
        return analysis + flops / self.machine.flops

    def substitution(self, entries: float) -> float:
        """Of both substitutions with factors."""
        return (100 + 0.0067 * entries) * self.host.call

    def flops_in(self, seconds: float, on_host: bool = True) -> float:
        """Flops of a Cholesky factorization whose LU factorization takes `seconds`."""
        return 0.5 * seconds * (self.host.flops if on_host else self.machine.flops)
