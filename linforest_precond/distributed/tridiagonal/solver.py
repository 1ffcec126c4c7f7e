"""The solver of (block) tridiagonal systems over ranks: factored once, solved many times."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array
from linforest_precond.distributed.partition.communicator import Communicator
from linforest_precond.distributed.tridiagonal.elimination import RankElimination
from linforest_precond.precond.tridiagonal.segments import Triple
from linforest_precond.precond.tridiagonal.solver import TridiagonalSolver
from linforest_precond.records.forest import Bands

# Returns the row sums of |A| of this rank, in the order of the system.
Magnitudes = Callable[[], Array]


class RankTridiagonalSolver(TridiagonalSolver):
    """A (block) tridiagonal system whose rows are partitioned among ranks; all methods are collective.

    Each rank factors and solves its own rows. The pivots, and what is decided by them, are those of one rank
    (`RankElimination`). Where paths link at most 8 ranks, solves are pipelined along crossing paths, or
    gather their rows on one rank if pivoting is needed: solutions have the bits of one rank. Else every rank
    solves a reduced system of two unknowns for each cut (SPIKE, or the Schur complement if pivoting is
    needed) after one allgather: solutions are those of one rank up to rounding.

    Parameters
    ----------
    bands : Bands
        This rank's rows, which may be none, on the host. ``lower[0]`` couples the first row to the last one
        of the rank before, ``upper[-1]`` the last row to the first one of the rank after.
    comm : Communicator
        The ranks.
    make_definite : bool
        Whether to clip couplings until a Hermitian matrix with a positive diagonal is definite.
    perturb : bool
        Whether to perturb tiny pivots; otherwise only those that vanish.
    magnitudes : callable, optional
        Gives the sums of the magnitudes of A's rows, by which paths of a general matrix are repaired.

    Attributes
    ----------
    cuts : int
        The cuts between ranks that a path crosses.
    coupling : str
        How the ranks are coupled, in words.
    unknowns : int
        The rows of the reduced system, 0 without one.
    numbers_sent : int
        Numbers that this rank sends to others for each right-hand side.
    n, nbytes : int
        Rows and bytes of this rank; all other attributes of `TridiagonalSolver` are of the whole system.

    Examples
    --------
    >>> import numpy as np
    >>> from linforest_precond.distributed import RankTridiagonalSolver, simulate
    >>> from linforest_precond.records.forest import Bands
    >>> def solve(comm):
    ...     own = slice(3 * comm.rank, 3 * comm.rank + 3)
    ...     couplings = np.array([0.0, -1, -1, -1, -1, -1, 0])
    ...     bands = Bands(couplings[own], np.full(3, 2.0), couplings[1:][own])
    ...     return RankTridiagonalSolver(bands, comm).solve(np.ones(3))
    >>> np.concatenate(simulate(2, solve)).round(6).tolist()
    [3.0, 5.0, 6.0, 6.0, 5.0, 3.0]
    """

    def __init__(
        self,
        bands: Bands,
        comm: Communicator,
        *,
        make_definite: bool = True,
        perturb: bool = True,
        magnitudes: Magnitudes | None = None,
    ) -> None:
        self._steps = steps = RankElimination(comm)

        def decide(bands: Triple, inverse: Array) -> Array | None:
            assert magnitudes is not None
            return steps.rows_to_repair(bands, inverse, magnitudes())

        lower, diagonal, upper = (
            np.ascontiguousarray(band) for band in (bands.lower, bands.diagonal, bands.upper)
        )
        self._factor(lower, diagonal, upper, make_definite, perturb, None if magnitudes is None else decide)
        self.cuts = steps.cuts
        self._describe()

    def on(self, backend: Backend) -> RankTridiagonalSolver:
        """The solver for vectors on a backend: collective.

        On a GPU, crossing paths are solved by a reduced system on the host, whatever their lengths, or
        gathered if pivoting is needed.
        """
        if backend is self._backend:
            return self
        found = copy.copy(self)
        found._backend, found._solver = backend, self._solver.on(backend)
        found._describe()
        return found

    def _describe(self) -> None:
        """Take what the method tells of itself."""
        self.unknowns, self.coupling = self._solver.unknowns, self._solver.coupling
        self.numbers_sent = self._solver.numbers_sent
        self.takes_order = getattr(self._solver, "takes_order", False)

    def solve_into(self, b: Array, x: Array, order: Array | None = None, transpose: bool = False) -> None:
        """Solve for the columns of b into x, unchecked; `order` only if `takes_order`; rows may be none."""
        self._solver.solve(b, x, order, transpose)
