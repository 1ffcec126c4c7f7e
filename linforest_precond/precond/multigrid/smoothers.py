"""Smoothers of a multigrid level: cheap iterations that leave an error that varies little."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linforest_precond.annotations import Array
from linforest_precond.backends import backend_of
from linforest_precond.graph.forest.factor import check_options
from linforest_precond.graph.forest.pairs import check_block_options
from linforest_precond.precond.multigrid.eigenvalue_estimates import gershgorin, largest_eigenvalue
from linforest_precond.precond.stored import stored_array
from linforest_precond.precond.tridiagonal.operators import TridiagonalPart, block_part, scalar_part
from linforest_precond.records import CSR, Bands

LINES = "tridiagonal", "block_tridiagonal"
SMOOTHERS = "jacobi", "l1_jacobi", "chebyshev", *LINES
# Of the largest eigenvalue: what a damped step annihilates is three quarters of it.
DAMPING = 4 / 3
# Lines whose largest eigenvalue is larger would be damped so much that Jacobi's iteration does better.
WORST_LINES = 10.0
# Chebyshev's polynomials: their degree, and the part of the spectrum they damp.
DEGREE = 2
LOWEST_SHARE = 1 / 4
# How the forests of line smoothers are found, as by `tridiagonal` and `block_tridiagonal`.
FORESTS = {"iterations": "auto", "m": 5, "k_m": 0, "p": 0.5}
BLOCK_FORESTS = {"iterations": "auto", "m": "auto", "k_m": 0, "p": 0.5}


@dataclass(frozen=True, eq=False)
class Relaxation:
    """Jacobi's iteration, or Chebyshev's: steps with a diagonal matrix.

    Attributes
    ----------
    weights
        What each row's residual is multiplied with.
    steps
        Momentum and factor of the steps of a sweep.
    """

    kind: str
    weights: Array
    steps: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, csr: CSR, stored: np.dtype, kind: str, definite: bool) -> Relaxation:
        backend = backend_of(csr.data)
        sizes, _ = backend.multigrid.strength.row_sums(csr)
        weights = _inverse(csr, sizes, kind == "l1_jacobi", backend.xp)
        if kind == "l1_jacobi":
            return cls(kind, stored_array(weights, stored), ((0.0, 1.0),))
        estimate = largest_eigenvalue(csr.n, *_by_weights(csr, weights, backend), definite, backend)
        largest = min(estimate, gershgorin(csr, sizes)) or 1.0
        if kind == "chebyshev":
            return cls(kind, stored_array(weights, stored), _chebyshev_steps(largest))
        return cls(kind, stored_array(min(1.0, DAMPING / largest) * weights, stored), ((0.0, 1.0),))

    @classmethod
    def from_state(cls, **fields: Any) -> Relaxation:
        return cls(**fields)

    def state(self) -> dict[str, Any]:
        return dict(vars(self))

    def refreshed(self, csr: CSR, definite: bool) -> Relaxation:
        return self.of(csr, self.weights.dtype, self.kind, definite)

    def swaps(self, sweeps: int, fresh: bool) -> int:
        """How often x and its other array change places; the step from 0 is none."""
        return max(0, len(self.steps) * sweeps - fresh)

    def begin(self, space: Any, b: Any, x: Any, other: Any, sweeps: int) -> None:
        """Sweep from 0, at first into x."""
        if not sweeps:
            space.ops.clear(x)
            return
        (_, factor), *rest = self.steps
        space.ops.scale(self.weights, factor, b, x)
        if rest:
            space.ops.clear(other)
        self._relax(space, b, x, other, [*rest, *self.steps * (sweeps - 1)])

    def go_on(self, space: Any, b: Any, x: Any, other: Any, sweeps: int) -> None:
        """Sweep from x."""
        self._relax(space, b, x, other, self.steps * sweeps)

    def _relax(self, space, b, x, other, steps):
        for momentum, factor in steps:
            space.ops.relax(space.matrix, self.weights, b, x, other, momentum, factor)
            x, other = other, x


@dataclass(frozen=True, eq=False)
class Lines:
    """Relaxation of whole paths: a tridiagonal system along a linear forest, solved in every sweep."""

    kind: str
    part: TridiagonalPart  # its bands are divided by the damping

    @classmethod
    def of(cls, csr: CSR, stored: np.dtype, kind: str, definite: bool, seed: int) -> Lines | Relaxation:
        if kind == "tridiagonal":
            part = scalar_part(csr, stored, "forest", check_options(2, **FORESTS, seed=seed))
        else:
            part = block_part(csr, stored, check_block_options(2, **BLOCK_FORESTS, seed=seed))
        return cls._damped(csr, kind, part, definite)

    @classmethod
    def _damped(cls, csr: CSR, kind: str, part: TridiagonalPart, definite: bool) -> Lines | Relaxation:
        """With the damping that the matrix asks for; Jacobi's iteration where that is too much."""
        backend, stored = backend_of(csr.data), part.stored
        matrix = backend.multigrid.vector_ops.Matrix(
            csr.indptr, csr.indices, stored_array(csr.data, stored), csr.longest_row
        )
        largest = largest_eigenvalue(
            csr.n,
            stored,
            lambda x, y: backend.multigrid.vector_ops.multiply(matrix, x, y),
            lambda r, z: part.solve_into(r, z, False),
            definite and part.solver.positive_definite,
            backend,
        )
        if largest > WORST_LINES:
            return Relaxation.of(csr, stored, "jacobi", definite)
        damping = stored.type(min(1.0, DAMPING / largest))
        bands = Bands(*(band / damping for band in (part.bands.lower, part.bands.diagonal, part.bands.upper)))
        state = {**part.state(), "bands": bands}
        return cls(kind, TridiagonalPart.from_state(**state))

    @classmethod
    def from_state(cls, kind: str, part: dict[str, Any]) -> Lines:
        return cls(kind, TridiagonalPart.from_state(**part))

    def state(self) -> dict[str, Any]:
        return {"kind": self.kind, "part": self.part.state()}

    def refreshed(self, csr: CSR, definite: bool) -> Lines | Relaxation:
        return self._damped(csr, self.kind, self.part.refreshed(csr), definite)

    def swaps(self, sweeps: int, fresh: bool) -> int:
        return 0

    def begin(self, space: Any, b: Any, x: Any, other: Any, sweeps: int) -> None:
        if not sweeps:
            space.ops.clear(x)
            return
        self.part.solve_into(b, x, space.transpose)
        self.go_on(space, b, x, other, sweeps - 1)

    def go_on(self, space: Any, b: Any, x: Any, other: Any, sweeps: int) -> None:
        for _ in range(sweeps):
            space.ops.residual(space.matrix, b, x, space.r)
            self.part.solve_into(space.r, other, space.transpose)
            space.ops.add(other, x)


def smoother_of(csr: CSR, stored: np.dtype, kind: str, definite: bool, seed: int) -> Relaxation | Lines:
    """The smoother of a level, from its matrix."""
    if kind in LINES:
        return Lines.of(csr, stored, kind, definite, seed)
    return Relaxation.of(csr, stored, kind, definite)


def restored(state: dict[str, Any]) -> Relaxation | Lines:
    """The smoother whose state that is."""
    return (Lines if "part" in state else Relaxation).from_state(**state)


def jacobi_damping(csr: CSR, definite: bool) -> Array:
    """The weights of a damped Jacobi step: what smooths prolongators."""
    return Relaxation.of(csr, csr.data.dtype, "jacobi", definite).weights


def _inverse(csr: CSR, sizes: Array, by_rows: bool, xp: Any) -> Array:
    """One over the diagonal, or over the rows' sums of magnitudes with its sign."""
    diagonal = csr.diagonal
    filled = xp.where(sizes > 0, sizes, 1)
    if by_rows:
        filled = xp.where(diagonal.real < 0, -filled, filled)
    else:
        filled = xp.where(diagonal != 0, diagonal, filled)
    return (1 / filled).astype(csr.data.dtype)


def _by_weights(csr: CSR, weights: Array, backend: Any) -> tuple[Any, Any, Any]:
    """The type, product and solve that `largest_eigenvalue` asks for."""
    matrix = backend.multigrid.vector_ops.Matrix(csr.indptr, csr.indices, csr.data, csr.longest_row)
    multiply = backend.multigrid.vector_ops.multiply
    scale = backend.multigrid.vector_ops.scale
    return (
        csr.data.dtype,
        lambda x, y: multiply(matrix, x, y),
        lambda r, z: scale(weights, 1.0, r, z),
    )


def _chebyshev_steps(largest: float) -> tuple[tuple[float, float], ...]:
    """Momentum and factor of each step of the polynomial that is small on the upper part of the spectrum."""
    lowest = LOWEST_SHARE * largest
    middle, half = (largest + lowest) / 2, (largest - lowest) / 2
    steps, ratio = [(0.0, 1 / middle)], half / middle
    for _ in range(DEGREE - 1):
        new = 1 / (2 * middle / half - ratio)
        steps.append((new * ratio, 2 * new / half))
        ratio = new
    return tuple(steps)
