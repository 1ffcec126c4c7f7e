"""Algebraic multigrid by pairwise aggregation or along paths, with point and line smoothers."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from linforest_precond.annotations import Array, DType, MatrixLike
from linforest_precond.arguments import as_integer
from linforest_precond.backends import Backend, backend_of
from linforest_precond.backends.workspaces import Workspaces
from linforest_precond.graph.matching.repeated_coarsening import coarsen_until_small, is_stalled
from linforest_precond.precond.multigrid.coarsest import LARGEST_DENSE, Coarsest
from linforest_precond.precond.multigrid.grid_transfer import GridTransfer, Interpolation
from linforest_precond.precond.multigrid.hierarchy import Hierarchy
from linforest_precond.precond.multigrid.hierarchy_level import Level
from linforest_precond.precond.multigrid.level_matrix import LevelMatrix
from linforest_precond.precond.multigrid.multigrid_cycle import MultigridCycle, check_cycle
from linforest_precond.precond.multigrid.multilevel_schema import COARSENINGS, MOST_SWEEPS, SCHEMA
from linforest_precond.precond.multigrid.pairwise_aggregation import WEIGHTS, aggregate_pairwise
from linforest_precond.precond.multigrid.path_coarsening import coarsen_along_paths
from linforest_precond.precond.multigrid.smoothers import LINES, SMOOTHERS, smoother_of
from linforest_precond.precond.part import part_of_kind
from linforest_precond.precond.setup import Setup
from linforest_precond.precond.stored import held_bytes
from linforest_precond.records import CSR, ratio_to_finest
from linforest_precond.user_warnings import warn_user, without_numpy_warnings


@without_numpy_warnings
def multilevel(
    A: MatrixLike,
    *,
    coarsening: str = "auto",
    matchings: int = 2,
    smoother: str = "jacobi",
    cycle: str = "K",
    max_coarse: int = 1000,
    max_levels: int = 20,
    smooth_prolongation: bool = False,
    presmooth: int = 1,
    postsmooth: int = 1,
    weights: str = "coupling",
    strength: float = 0.5,
    seed: int = 0,
    dtype: npt.DTypeLike | None = None,
) -> Hierarchy:
    """Set up an algebraic multigrid hierarchy of A.

    Aggregates ("matching") come from matchings, as in Notay, "An aggregation-based algebraic multigrid
    method" (2010), and D'Ambra & Vassilevski, "Adaptive AMG with coarsening based on compatible weighted
    matching" (2013), doi:10.1007/s00791-014-0224-9. Strength of connection is ``2 |a_ij| / (a_ii + a_jj)``;
    positive couplings are left out. An unknown that is not matched takes part in the level's next matching,
    and joins its strongest neighbour after the last.

    Along the paths of a linear forest ("paths") every second unknown is kept, and those between are
    interpolated from their neighbours on the path, weighted by the entries; then again, along the paths of
    the Galerkin product. An unknown on no path takes its strongest neighbour's value. Such prolongators have
    more entries, and so have the coarse matrices, but they fit errors that vary slowly along strong
    couplings: with line smoothers, few iterations solve anisotropic problems in whatever direction. A level
    whose matrix would have more than four fifths of the entries of the level above takes aggregates instead.

    The coarsest level is solved by the dense (pseudo-)inverse.

    For a Hermitian positive definite A every cycle but K is a fixed positive definite operator, for `cg`.
    The K-cycle solves each coarse system by two steps of flexible conjugate gradients (Notay & Vassilevski,
    "Recursive Krylov-based multigrid cycles", 2008, doi:10.1002/nla.542), but for the last four levels of
    deep hierarchies, so that the number of iterations hardly grows with A; it is to be used with `fcg`. For
    other matrices all cycles work, and K's steps minimize the residual, but convergence is not guaranteed.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy. The hierarchy refers to A's own arrays where they need no conversion.
    coarsening : {"auto", "matching", "paths"}
        How coarse levels are made. "auto" is "paths" for line smoothers without `smooth_prolongation`, else
        "matching".
    matchings : int
        Matchings for each level, or coarsenings along paths: the coarsening ratio is about ``2**matchings``.
    smoother : {"jacobi", "l1_jacobi", "chebyshev", "tridiagonal", "block_tridiagonal"}
        The iteration on each level: Jacobi's, damped by an estimate of the largest eigenvalue; l1-Jacobi,
        which divides by the rows' sums of magnitudes; a Chebyshev polynomial of degree 2; or line relaxation
        along the paths of a linear forest, for strong couplings in few directions, whatever these are
        (Jacobi's on levels where line relaxation would have to be damped too much).
    cycle : {"K", "V", "W", "F"}
        The default of `solve` and `aspreconditioner`.
    max_coarse, max_levels : int
        A level with at most this many unknowns is the last, and so is the level with this number.
    smooth_prolongation : bool
        Smooth the prolongators of "matching" by a Jacobi step: fewer iterations for more entries on the
        coarse levels.
    presmooth, postsmooth : int
        Sweeps before and after the coarse-grid correction; the same number for a symmetric operator.
    weights : {"coupling", "magnitude"}
        Strength of connection: as above, or the magnitudes of the entries.
    strength : float
        Couplings below this share of the strongest of both unknowns are weak, and not matched; of "coupling".
    seed : int
        Of the order among equal weights, and of the forests of line smoothers.
    dtype : dtype, optional
        The precision to store and to work in, A's own by default.

    Returns
    -------
    Hierarchy
        With `solve`, `aspreconditioner`, `levels`, `update` and the complexities, as PyAMG's have them.
        Where coarsening stalls, `stalled` is True and a RuntimeWarning is given.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> A = lf.matrices.poisson((100, 100))
    >>> ml = lf.multilevel(A)
    >>> [level.A.shape[0] for level in ml.levels]
    [10000, 2504, 614]
    >>> history = lf.solvers.History()
    >>> x, info = lf.solvers.fcg(A, np.ones(10000), rtol=1e-8, M=ml.aspreconditioner(), history=history)
    >>> info, len(history) < 25
    (0, True)
    """
    options = MultilevelOptions.checked(
        coarsening=coarsening, matchings=matchings, smoother=smoother, max_coarse=max_coarse,
        max_levels=max_levels, smooth_prolongation=smooth_prolongation, presmooth=presmooth,
        postsmooth=postsmooth, weights=weights, strength=strength, seed=seed,
    )  # fmt: skip
    check_cycle(cycle)
    setup = Setup(A, dtype)
    stored, finest = setup.stored, LevelMatrix(setup.csr)
    fine_levels, last, stall = coarsen_until_small(
        finest,
        lambda matrix: coarsen_level(matrix, options),
        options.max_coarse,
        options.max_levels,
        options.stall_cause,
    )
    smoothers = [smoother_of(matrix, stored, options.smoother, options.seed) for matrix, _ in fine_levels]
    levels = [
        Level(matrix.csr, smoother, transfer).stored_in(stored)
        for (matrix, transfer), smoother in zip(fine_levels, smoothers)
    ]
    if stall:
        warn_user(stall)
    part = with_coarsest_level(levels, last, stored, cycle, options, bool(stall))
    return Hierarchy(setup.operator(part), A)


def coarsen_level(matrix: LevelMatrix, options: MultilevelOptions) -> tuple[GridTransfer, LevelMatrix]:
    """The grid transfer to the next level, and that level's matrix."""
    connection = options.weights, options.strength, options.seed
    if options.coarsening == "paths":
        found = coarsen_along_paths(matrix, options.matchings, *connection)
        if found is not None:
            return found
    aggregates = aggregate_pairwise(matrix, options.matchings, *connection)
    transfer: GridTransfer = aggregates
    if options.smooth_prolongation and not is_stalled(matrix.n, aggregates.count):
        transfer = Interpolation.smoothed_from(aggregates, matrix)
    return transfer, transfer.coarse_matrix(matrix)


def with_coarsest_level(
    levels: list[Level],
    last: LevelMatrix,
    stored: DType,
    cycle: str,
    options: MultilevelOptions,
    stalled: bool,
) -> MultilevelPart:
    """The part of all levels: the last one is inverted, or smoothed where it is too large for that."""
    coarsest = Coarsest.of(last.csr, stored, last.hermitian)
    smoother = None if coarsest else smoother_of(last, stored, options.smoother, options.seed)
    levels = [*levels, Level(last.csr, smoother).stored_in(stored)]
    return MultilevelPart(
        levels[0].csr.n, tuple(levels), coarsest, cycle, options,
        hermitian=last.hermitian, definite=last.definite, centered=last.centered, stalled=stalled,
    )  # fmt: skip


@dataclass(frozen=True)
class MultilevelOptions:
    """The checked options of `multilevel`; their names are keys in files."""

    coarsening: str
    matchings: int
    smoother: str
    max_coarse: int
    max_levels: int
    smooth_prolongation: bool
    presmooth: int
    postsmooth: int
    weights: str
    strength: float
    seed: int

    @classmethod
    def checked(cls, **given: Any) -> MultilevelOptions:
        choices = {"coarsening": COARSENINGS, "smoother": SMOOTHERS, "weights": WEIGHTS}
        least = {"matchings": 1, "max_coarse": 1, "max_levels": 1, "presmooth": 0, "postsmooth": 0}
        most = {"presmooth": MOST_SWEEPS, "postsmooth": MOST_SWEEPS}
        options = dict(given)
        for name, allowed in choices.items():
            if given[name] not in allowed:
                wanted = ", ".join(map(repr, allowed))
                raise ValueError(f"{name} must be one of {wanted}, got {given[name]!r}")
        for name, number in least.items():
            options[name] = as_integer(name, given[name])
            if options[name] < number:
                raise ValueError(f"{name} must be at least {number}, got {options[name]}")
            if options[name] > most.get(name, options[name]):
                raise ValueError(f"{name} must be at most {most[name]}, got {options[name]}")
        if not options["presmooth"] + options["postsmooth"]:
            raise ValueError("presmooth and postsmooth must not both be 0: nothing would smooth")
        options["seed"] = as_integer("seed", given["seed"]) % 2**64
        options["smooth_prolongation"] = smooth = bool(given["smooth_prolongation"])
        if given["coarsening"] == "auto":
            options["coarsening"] = "paths" if given["smoother"] in LINES and not smooth else "matching"
        elif given["coarsening"] == "paths" and smooth:
            raise ValueError(
                'smooth_prolongation is for coarsening="matching"; "paths" has weights of its own'
            )
        strength = given["strength"]
        if not isinstance(strength, int | float | np.number) or not 0 <= strength <= 1:
            raise ValueError(f"strength must lie in [0, 1], got {strength!r}")
        options["strength"] = float(strength)
        return cls(**options)

    @property
    def stall_cause(self) -> str:
        """The end of the warning where coarsening stalls."""
        cause = "so few are coupled strongly that {left} would stay"
        if self.weights == "magnitude":
            return cause
        return cause + '; try weights="magnitude", or a smaller strength'


@part_of_kind(multilevel=SCHEMA)
@dataclass(frozen=True, eq=False)
class MultilevelPart:
    """The levels of a hierarchy, and the cycle that the operator applies."""

    n: int
    levels: tuple[Level, ...]
    coarsest: Coarsest | None
    cycle: str
    options: MultilevelOptions
    hermitian: bool
    definite: bool  # Hermitian with a positive diagonal: K-cycles minimize the error in A's norm
    centered: bool  # A maps constants to 0: means are subtracted
    stalled: bool
    _cycles: Workspaces = field(default_factory=Workspaces, repr=False)  # the vectors of cycles

    kind = "multilevel"
    forest = ordering = bands = None
    coverage = 1.0

    @classmethod
    def from_state(cls, levels: Any, coarsest: Any, options: dict[str, Any], **fields: Any) -> MultilevelPart:
        levels = tuple(Level.from_state(**level) for level in levels)
        for level in levels:
            _ = level.held  # makes the members of aggregates now, and not on one of several streams later
        return cls(levels=levels, coarsest=coarsest, options=MultilevelOptions(**options), **fields)

    def state(self) -> dict[str, Any]:
        names = "hermitian", "definite", "centered", "stalled"
        return {
            "levels": [level.state() for level in self.levels],
            "n": self.n,
            "coarsest": self.coarsest,
            "cycle": self.cycle,
            "options": asdict(self.options),
            **{name: getattr(self, name) for name in names},
        }

    def refreshed(self, csr: CSR) -> MultilevelPart:
        """The values of another matrix, for the same aggregates or weights and along the same lines."""
        matrix = LevelMatrix(csr)
        levels = []
        for level in self.levels[:-1]:
            assert level.transfer is not None and level.smoother is not None
            transfer, smoother = level.transfer.refreshed(matrix), level.smoother.refreshed(matrix)
            levels.append(Level(matrix.csr, smoother, transfer).stored_in(self.stored))
            matrix = transfer.coarse_matrix(matrix)
        return with_coarsest_level(levels, matrix, self.stored, self.cycle, self.options, self.stalled)

    def with_cycle(self, cycle: str) -> MultilevelPart:
        """The same hierarchy with another cycle."""
        return self if cycle == self.cycle else replace(self, cycle=cycle, _cycles=Workspaces())

    @cached_property
    def transposed(self) -> MultilevelPart:
        """The part of the transposed matrix: pre- and postsmoothing change places."""
        pre, post = self.options.presmooth, self.options.postsmooth
        if self.is_symmetric and pre == post:
            return self
        options = replace(self.options, presmooth=post, postsmooth=pre)
        if self.is_symmetric:
            return replace(self, options=options, _cycles=Workspaces())
        coarsest = None if self.coarsest is None else self.coarsest.transposed()
        levels = tuple(level.transposed() for level in self.levels)
        self._backend.runtime.streams.finish()  # stall: other streams may use it as soon as it is cached
        return replace(self, levels=levels, coarsest=coarsest, options=options, _cycles=Workspaces())

    @property
    def is_symmetric(self) -> bool:
        return self.hermitian and self.stored.kind != "c"

    @property
    def stored(self) -> DType:
        return self.levels[0].csr.data.dtype

    def solve_into(self, b: Array, x: Array, transpose: bool) -> None:
        part = self.transposed if transpose else self
        columns = b.shape[1]
        key = columns, self._backend.runtime.streams.current()
        loan = part._cycles.take(key, lambda: part._cycle(columns, transpose and part is not self))
        loan.workspace.apply(b, x)
        part._cycles.give_back(loan)

    def _cycle(self, columns: int, transpose: bool) -> MultigridCycle:
        """A cycle for this many columns, with its vectors."""
        sweeps = self.options.presmooth, self.options.postsmooth
        return MultigridCycle(
            self.levels, self.coarsest, self.cycle, sweeps, columns, self.stored,
            transpose=transpose, definite=self.definite, centered=self.centered,
        )  # fmt: skip

    @cached_property
    def _backend(self) -> Backend:
        return backend_of(self.levels[0].csr.data)

    @property
    def nbytes(self) -> int:
        return held_bytes([level.held for level in self.levels], self.coarsest)

    @property
    def name(self) -> str:
        return f"multilevel: {self.cycle}-cycle on {len(self.levels)} levels"

    def described(self) -> list[tuple[str, str]]:
        entries = [level.csr.nnz for level in self.levels]
        unknowns = [level.csr.n for level in self.levels]
        lines = [
            (f"level {i}", f"{n:,} unknowns, {nnz:,} entries")
            for i, (n, nnz) in enumerate(zip(unknowns, entries))
        ]
        of_entries, of_unknowns = ratio_to_finest(entries), ratio_to_finest(unknowns)
        if self.coarsest is None:
            how = f"smoothed, as it has more than {LARGEST_DENSE:,} unknowns"
        else:
            how = f"inverted, of rank {self.coarsest.rank:,}"
        return [
            *lines,
            ("complexity", f"{of_entries:.2f} x the entries, {of_unknowns:.2f} x the unknowns"),
            ("coarsening", self.options.coarsening),
            ("smoother", self._smoothing()),
            ("coarsest", how + (", stalled" if self.stalled else "")),
            ("null space", "the constants, left out" if self.centered else "none known"),
        ]  # fmt: skip

    def _smoothing(self) -> str:
        """The smoother in words."""
        name = self.options.smoother
        others = [
            str(i) for i, level in enumerate(self.levels) if level.smoother and level.smoother.kind != name
        ]
        instead = f"; jacobi on level {', '.join(others)}, where lines do not pay" if others else ""
        return f"{name}, {self.options.presmooth} sweeps before and {self.options.postsmooth} after{instead}"
