"""The cost model: bytes that a setup, an iteration and an application move to and from memory.

All candidates are compared by these counts, so that the choice is the same from run to run and on every
machine. Krylov methods and preconditioners are bound by memory bandwidth on large systems. On a GPU, small
ones are bound by latencies, which are counted as the bytes that could be moved meanwhile (`LATENCIES`,
measured on one H200).

- A product with A reads its entries and column indices once, row pointers once, and a vector; it writes one.
- An iteration reads and writes the vectors that its fused updates and inner products touch (`METHODS`).
- A setup is counted in products with A (`Candidate.setup_products`), as measured on large systems.
- An application of M reads what M holds once, or what `Kind.bytes_moved` counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from linforest_precond.backends import backend_of
from linforest_precond.backends.annotations import Array, DType
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.precond.ilu.order_choice import COSTS as LEVEL_COSTS
from linforest_precond.precond.kinds import kind_named
from linforest_precond.precond.number_types import held_bytes
from linforest_precond.precond.preconditioner import Preconditioner
from linforest_precond.precond.scaling.scaled_part import ScaledPart

# Dense inverses: floating-point operations that take as long as a byte, the most rows, and the most products
# with A that one may take as long as.
FLOPS_PER_BYTE = 10
LEAST_COARSE, MAX_COARSE, INVERSE_PRODUCTS = 100, 1000, 20
# Products that are timed where times are to be compared.
CALIBRATING_PRODUCTS = 5


class Latencies(NamedTuple):
    """Seconds that pass on a backend beside the bytes that are counted, and sizes that depend on them.

    Attributes
    ----------
    iteration, start
        Of an iteration with any Krylov method, and of the start of a run: its vectors, its first launches one
        by one and the capture of a graph.
    product, short_product
        Of the launch of a product with A, and the bytes of one that takes little longer: more entries of an
        approximate inverse are nearly free then.
    bandwidth
        Bytes a second that latencies are converted with.
    least_coarse
        The fewest rows of a coarsest matrix: where levels have latencies, a dense inverse replaces some.
    """

    iteration: float = 0.0
    start: float = 0.0
    product: float = 0.0
    short_product: float = 0.0
    bandwidth: float = 1.0
    least_coarse: int = LEAST_COARSE

    def as_bytes(self, seconds: float) -> float:
        """The bytes that could be moved meanwhile."""
        return seconds * self.bandwidth


LATENCIES = {
    "cpu": Latencies(),
    "cuda": Latencies(4e-5, 2e-3, 4e-6, 3e7, LEVEL_COSTS["cuda"].bandwidth, MAX_COARSE),
}


class SetupCost(NamedTuple):
    """Products with A that take as long as the setup of a large system, and seconds for a small one."""

    products: float
    seconds: float


class IterationCost(NamedTuple):
    """What an iteration of a Krylov method consists of: products with A and with M, and vectors moved."""

    products: int
    applications: int
    vectors: int


def inversion(rows: float) -> float:
    """The bytes that take as long as the inversion of a dense matrix."""
    return 2 * rows**3 / FLOPS_PER_BYTE


def affordable_inverse(product: float, latencies: Latencies = LATENCIES["cpu"]) -> int:
    """The most rows of a coarsest matrix, for the bytes of a product with A."""
    rows = (INVERSE_PRODUCTS * product * FLOPS_PER_BYTE / 2) ** (1 / 3)
    return int(min(max(rows, latencies.least_coarse), MAX_COARSE))


METHODS = {
    "cg": IterationCost(1, 1, 11),
    "fcg": IterationCost(1, 1, 13),
    "bicgstab": IterationCost(2, 2, 17),
    "minres": IterationCost(1, 1, 16),
    "idrs": IterationCost(1, 1, 25),  # with 4 shadow vectors
}


@dataclass(frozen=True)
class CostModel:
    """The sizes that all counts are made of.

    Attributes
    ----------
    rows
        Of A.
    product
        Bytes of one product with A.
    vector
        Bytes of the right-hand sides together.
    backend
        The name of the backend, whose latencies count.
    """

    rows: int
    product: int
    vector: int
    backend: str = "cpu"

    @classmethod
    def of(cls, csr: CheckedMatrix, dtype: DType, columns: int) -> CostModel:
        vector = csr.n * columns * dtype.itemsize
        entries = csr.nnz * (csr.data.dtype.itemsize + csr.indices.dtype.itemsize)
        return cls(csr.n, entries + csr.indptr.nbytes + 2 * vector, vector, csr.backend.name)

    @property
    def latencies(self) -> Latencies:
        return LATENCIES[self.backend]

    @property
    def unit(self) -> float:
        """Bytes of a product with A in reports, its launch included."""
        return self.product + self.latencies.as_bytes(self.latencies.product)

    def setup_of(self, candidate: Any, inverted: int | None = None) -> float:
        """Bytes of a candidate's setup; multigrid inverts the dense matrix of its coarsest level."""
        bytes_moved = float(candidate.setup_products * self.product) + candidate.setup_latency
        if candidate.is_multigrid:
            most = affordable_inverse(self.product, self.latencies)
            rows = min(self.rows, most) if inverted is None else inverted
            bytes_moved += inversion(rows)
        return bytes_moved

    def setup_seen(self, candidate: Any, M: Preconditioner) -> float:
        """Bytes of a setup that has been made."""
        coarsest = getattr(M._part, "coarsest", None)
        return self.setup_of(candidate, 0 if coarsest is None else coarsest.rank)

    def iteration_seen(self, counted: float, seconds: float, iterations: int) -> float:
        """Bytes of an iteration, of which some have been timed."""
        return counted

    def iteration(self, method: str, application: float) -> float:
        """Bytes of an iteration of a method, given the bytes that an application of M moves."""
        parts = METHODS[method]
        moved = parts.products * self.product + parts.applications * application + parts.vectors * self.vector
        return moved + self.latencies.as_bytes(self.latencies.iteration)

    def application(self, M: Preconditioner) -> float:
        """Bytes of one application of M."""
        part: Any = M._part
        moved = 2.0 * self.vector
        if isinstance(part, ScaledPart):
            moved, part = moved + held_bytes(part.scaling) + 2 * self.vector, part.inner
        kind = kind_named(part.kind)
        seconds, efficiency = kind.application_on(self.backend)
        return moved + kind.bytes_moved(part) / efficiency + self.latencies.as_bytes(seconds)


@dataclass(frozen=True)
class MeasuredCost(CostModel):
    """Times in place of counted bytes, in units of the time that a product with A takes for a byte.

    What has not been measured yet is counted.
    """

    seconds_per_byte: float = 0.0

    @classmethod
    def calibrated(cls, counted: CostModel, A: Any, x: Array) -> MeasuredCost:
        """The unit from a few products with A; where these are short, that of the latencies."""
        streams, times = backend_of(x).runtime.streams, []
        for _ in range(CALIBRATING_PRODUCTS):
            watch = streams.Stopwatch()
            A @ x
            watch.stop()
            times.append(watch.milliseconds() / 1e3)
        is_short = counted.product <= counted.latencies.short_product
        unit = 1 / counted.latencies.bandwidth if is_short else min(times) / counted.product
        return cls(counted.rows, counted.product, counted.vector, counted.backend, unit)

    def setup_seen(self, candidate: Any, M: Preconditioner) -> float:
        compiled = M._setup.first
        return (
            super().setup_seen(candidate, M)
            if compiled
            else M._setup.milliseconds / 1e3 / self.seconds_per_byte
        )

    def iteration_seen(self, counted: float, seconds: float, iterations: int) -> float:
        return seconds / iterations / self.seconds_per_byte if iterations else counted
