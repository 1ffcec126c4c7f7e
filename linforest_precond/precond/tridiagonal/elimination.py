"""The steps of the factorization of a (block) tridiagonal system on one device."""

from __future__ import annotations

from typing import Any

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.returns import PivotFinding
from linforest_precond.precond.tridiagonal.growth import REPAIRS, overflowing_rows
from linforest_precond.precond.tridiagonal.segments import Triple, backend_of_bands
from linforest_precond.records.printing import numbers_of


class StartedFactorization:
    """An asynchronous factorization on one device, with the sweeps that solves are expected to need.

    `symmetric` is the expected symmetry; None where no sweeps are expected. `report` is a report of the
    backend that is read at the same time.
    """

    def __init__(self, bands: Triple, perturb: bool, symmetric: bool | None, report: Any = None) -> None:
        lower, diagonal, upper = bands
        rooms = backend_of_bands(bands).tridiagonal
        self._inverse, self._report = rooms.pivots.factor(*bands, perturb, report)
        self._symmetric, self._sweeps = symmetric, None
        if symmetric is not None:
            self._sweeps = rooms.sweeps.Sweeps(lower, self._inverse, upper, symmetric, self._report)

    def result(self) -> tuple[Array, list[int]]:
        """The inverses of the pivots, and the counters of `PivotFinding`."""
        return self._inverse, numbers_of(self._report)  # stall: decides how the system is solved

    def sweeps(self, symmetric: bool) -> Any | None:
        """The expected sweeps, where the matrix is what was expected; None elsewhere."""
        return self._sweeps if symmetric == self._symmetric else None


class Elimination:
    """The steps of `TridiagonalSolver`; over several ranks, a subclass makes them collectively."""

    collective = False  # whether other ranks take part in solves, also where this one has no rows
    warns = True  # whether repairs are reported to the user by this object

    def factor(self, bands: Triple, perturb: bool) -> tuple[Array, list[int]]:
        """The inverses of the pivots, and the counters of `PivotFinding`."""
        inverse, report = backend_of_bands(bands).tridiagonal.pivots.factor(*bands, perturb)
        return inverse, numbers_of(report)  # stall: decides how the system is solved

    def clip(self, bands: Triple) -> Triple:
        """Clip couplings until the matrix is definite."""
        return backend_of_bands(bands).tridiagonal.repairs.clip(*bands)

    def clip_paths(self, bands: Triple, rows: Array) -> tuple[Triple, int, int]:
        """Clip couplings of some paths; the numbers of these and of clipped couplings."""
        clip = backend_of_bands(bands).tridiagonal.repairs.clip_paths
        lower, upper, paths, couplings = clip(*bands, rows)
        return (lower, bands[1], upper), paths, couplings

    def sweeps(
        self, bands: Triple, inverse: Array, symmetric: bool, started: StartedFactorization | None = None
    ) -> Any | None:
        """The solver without pivoting; None where rounding errors would grow."""
        lower, diagonal, upper = bands
        method = None if started is None else started.sweeps(symmetric)
        if method is None:
            method = backend_of_bands(bands).tridiagonal.sweeps.Sweeps(lower, inverse, upper, symmetric)
        return method if method.keep_digits(diagonal) else None

    def pivoted(self, bands: Triple, inverse: Array, perturbed: int, perturb: bool) -> tuple[Any, int]:
        """The solver with pivoting, and the number of rows that had to be regularized."""
        method = self.pivoted_method(bands, inverse, perturbed, perturb)
        regularized = 0
        for repair in REPAIRS if perturb else ():
            rows = self.overflowing_rows(method, bands) if method.perturbed else None
            if rows is None:
                break
            regularized = self.total(rows)
            bands = repair(bands, rows)
            inverse, found = self.factor(bands, True)
            method = self.pivoted_method(bands, inverse, found[PivotFinding.PERTURBED], perturb)
        return method, regularized

    def pivoted_method(self, bands: Triple, inverse: Array, perturbed: int, perturb: bool) -> Any:
        """The LU factors with pivoting; of scalar systems, singular segments are perturbed before."""
        rooms, (lower, diagonal, upper) = backend_of_bands(bands).tridiagonal, bands
        if diagonal.ndim == 3:
            return rooms.pivoting.PivotedBlocks(lower, diagonal, upper, inverse, perturbed)
        return rooms.pivoting.Pivoted(lower, diagonal, upper, inverse if perturb else None)

    def overflowing_rows(self, method: Any, bands: Triple) -> Array | None:
        """A mask of the (block) rows of all segments whose solutions overflow; None where there are none."""
        return overflowing_rows(method, bands)

    def total(self, rows: Array) -> int:
        """The number of marked rows."""
        return int(rows.sum())  # stall: reported to the user
