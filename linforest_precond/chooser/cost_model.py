"""The cost model: bytes that a setup, an iteration and an application move to and from memory.

All candidates are compared by these counts, so that the choice is the same from run to run and on every
machine. Krylov methods and preconditioners are bound by memory bandwidth on large systems. On a GPU, small
ones are bound by latencies, which are counted as the bytes that could be moved meanwhile (`gpu_costs`).

- A product with A reads its entries and column indices once, row pointers once, and a vector; it writes one.
- An iteration reads and writes the vectors that its fused updates and inner products touch (`METHODS`).
- A setup is counted in products with A (`Candidate.setup_products`), as measured on large systems.
- An application of M reads what M holds once, if not counted below.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from linforest_precond.backends import backend_of
from linforest_precond.backends.annotations import Array, DType
from linforest_precond.chooser import gpu_costs
from linforest_precond.matrix.checked import CSR
from linforest_precond.precond.ilu.order_choice import COSTS as LEVEL_COSTS
from linforest_precond.precond.multigrid.multigrid_cycle import twice_visited
from linforest_precond.precond.number_types import held_bytes
from linforest_precond.precond.operators import Preconditioner
from linforest_precond.precond.scaling.scaled_part import ScaledPart

# Vectors that a level of a cycle reads and writes for smoothing, transfers and corrections.
VECTORS_OF_LEVEL = 10
# Floating-point operations that take as long as a byte, for dense inverses. These may have at most so many
# rows, and take as long as so many products with A.
FLOPS_PER_BYTE = 10
LEAST_COARSE, MAX_COARSE, INVERSE_PRODUCTS = 100, 1000, 20
# Products that are timed where times are to be compared.
CALIBRATING_PRODUCTS = 5


class Method(NamedTuple):
    """What an iteration of a Krylov method consists of: products with A and with M, and vectors moved."""

    products: int
    applications: int
    vectors: int


def inversion(rows: float) -> float:
    """The bytes that take as long as the inversion of a dense matrix."""
    return 2 * rows**3 / FLOPS_PER_BYTE


def affordable_inverse(product: float, on_gpu: bool = False) -> int:
    """The most rows of a coarsest matrix, for the bytes of a product with A; on a GPU, levels cost more."""
    if on_gpu:
        return MAX_COARSE
    rows = (INVERSE_PRODUCTS * product * FLOPS_PER_BYTE / 2) ** (1 / 3)
    return int(min(max(rows, LEAST_COARSE), MAX_COARSE))


METHODS = {
    "cg": Method(1, 1, 11),
    "fcg": Method(1, 1, 13),
    "bicgstab": Method(2, 2, 17),
    "minres": Method(1, 1, 16),
    "idrs": Method(1, 1, 25),  # with 4 shadow vectors
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
    on_gpu
        Whether latencies count.
    """

    rows: int
    product: int
    vector: int
    on_gpu: bool = False

    @classmethod
    def of(cls, csr: CSR, dtype: DType, columns: int) -> CostModel:
        vector = csr.n * columns * dtype.itemsize
        entries = csr.nnz * (csr.data.dtype.itemsize + csr.indices.dtype.itemsize)
        on_gpu = backend_of(csr.data).name == "cuda"
        return cls(csr.n, entries + csr.indptr.nbytes + 2 * vector, vector, on_gpu)

    @property
    def unit(self) -> float:
        """Bytes of a product with A in reports, its launch on a GPU included."""
        return self.product + (gpu_costs.as_bytes(gpu_costs.PRODUCT) if self.on_gpu else 0.0)

    def setup_of(self, candidate: Any, inverted: int | None = None) -> float:
        """Bytes of a candidate's setup; on its last level multigrid inverts a matrix of so many rows."""
        bytes_moved = float(candidate.setup_products * self.product) + candidate.setup_latency
        if candidate.is_multigrid:
            most = affordable_inverse(self.product, self.on_gpu)
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
        """Bytes of an iteration of a method whose M moves so many bytes."""
        parts = METHODS[method]
        moved = parts.products * self.product + parts.applications * application + parts.vectors * self.vector
        return moved + (gpu_costs.as_bytes(gpu_costs.ITERATION) if self.on_gpu else 0.0)

    def application(self, M: Preconditioner) -> float:
        """Bytes of one application of M."""
        part: Any = M._part
        moved = 2.0 * self.vector
        if isinstance(part, ScaledPart):
            moved, part = moved + held_bytes(part.scaling) + 2 * self.vector, part.inner
        counted = COUNTS.get(part.kind, _held)(part)
        if self.on_gpu:
            seconds, efficiency = gpu_costs.APPLICATIONS[part.kind]
            counted = counted / efficiency + gpu_costs.as_bytes(seconds)
        return moved + counted


def _held(part: Any) -> float:
    return float(part.nbytes)


def _triangles(part: Any) -> float:
    """Both triangles, the pivots and the order of the rows; and a latency for each level of each."""
    costs = LEVEL_COSTS[backend_of(part.inverse).name]
    levels = int(part.starts.size) - 1
    each = costs.launch if levels <= costs.most_launches else costs.level
    return float(part.nbytes) + 2 * levels * each * costs.bandwidth


def _paths(part: Any) -> float:
    """Three bands and the order of the rows."""
    bands = part.bands
    order = 0 if part.order is None else part.order.nbytes
    return float(bands.lower.nbytes + bands.diagonal.nbytes + bands.upper.nbytes + order)


def _cycle(part: Any) -> float:
    """Products, smoothing and grid transfers of all visits to all levels, and the inverse of the coarsest."""
    levels, kind = part.levels, part.cycle
    twice = twice_visited(kind, len(levels) - 1)
    total, visits = float(held_bytes(part.coarsest)), 1
    for i, level in enumerate(levels[:-1]):
        if i in twice:
            visits = visits + 1 if kind == "F" else 2 * visits
        total += visits * _level(level, part.options.presmooth + part.options.postsmooth)
    return total


def _level(level: Any, sweeps: int) -> float:
    """Each step of a smoother is one product; the first starts from 0, but a residual is restricted."""
    csr = level.csr
    matrix = csr.data.nbytes + csr.indices.nbytes + csr.indptr.nbytes
    vectors = VECTORS_OF_LEVEL * csr.n * csr.data.dtype.itemsize
    smoother = level.smoother
    lines = sweeps * _paths(smoother.part) if hasattr(smoother, "part") else 0.0
    products = sweeps * len(getattr(smoother, "steps", (None,)))
    return products * matrix + lines + vectors + held_bytes(level.transfer)


COUNTS = {"tridiagonal": _paths, "block_tridiagonal": _paths, "multilevel": _cycle, "ilu": _triangles}


@dataclass(frozen=True)
class MeasuredCost(CostModel):
    """Times in place of counted bytes, in units of the time that a product with A takes for a byte.

    What has not been measured yet is counted.
    """

    seconds_per_byte: float = 0.0

    @classmethod
    def calibrated(cls, counted: CostModel, A: Any, x: Array) -> MeasuredCost:
        """The unit from a few products with A; on a GPU, where these are short, that of the latencies."""
        backend, times = backend_of(x), []
        for _ in range(CALIBRATING_PRODUCTS):
            watch = backend.runtime.stopwatch.Stopwatch()
            A @ x
            watch.stop()
            times.append(watch.milliseconds() / 1e3)
        is_short = counted.on_gpu and counted.product <= gpu_costs.SHORT_PRODUCT
        unit = 1 / gpu_costs.as_bytes(1.0) if is_short else min(times) / counted.product
        return cls(counted.rows, counted.product, counted.vector, counted.on_gpu, unit)

    def setup_seen(self, candidate: Any, M: Preconditioner) -> float:
        compiled = M._setup.first
        return (
            super().setup_seen(candidate, M)
            if compiled
            else M._setup.milliseconds / 1e3 / self.seconds_per_byte
        )

    def iteration_seen(self, counted: float, seconds: float, iterations: int) -> float:
        return seconds / iterations / self.seconds_per_byte if iterations else counted
