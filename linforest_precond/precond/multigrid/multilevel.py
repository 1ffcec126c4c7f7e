"""Multilevel hierarchies: coarsening by matchings or along paths, smoothers along lines, cycles."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from linforest_precond.backends import backend_of
from linforest_precond.graph.forest.factor import as_integer
from linforest_precond.graph.matching.coarsening import STALLED_SHARE
from linforest_precond.precond.multigrid.coarsest import LARGEST_DENSE, Coarsest
from linforest_precond.precond.multigrid.grid_transfer import Interpolation
from linforest_precond.precond.multigrid.hierarchy import Hierarchy
from linforest_precond.precond.multigrid.hierarchy_level import Level
from linforest_precond.precond.multigrid.multigrid_cycle import Cycle, check_cycle
from linforest_precond.precond.multigrid.pairwise_aggregation import WEIGHTS, paired
from linforest_precond.precond.multigrid.path_coarsening import halved
from linforest_precond.precond.multigrid.smoothers import LINES, SMOOTHERS, smoother_of
from linforest_precond.precond.operators import Setup, part_of_kind
from linforest_precond.precond.stored import held_bytes
from linforest_precond.records import CSR, ratio_to_finest
from linforest_precond.user_warnings import warn_user

COARSENINGS = "auto", "matching", "paths"


def multilevel(
    A: Any,
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
    dtype: Any = None,
) -> Hierarchy:
    """Make an algebraic multigrid hierarchy of A: unknowns that are coupled strongly are put together.

    Aggregates ("matching") come from matchings, as in Notay, "An aggregation-based algebraic multigrid
    method" (2010), and D'Ambra & Vassilevski, "Adaptive AMG with coarsening based on compatible weighted
    matching" (2013), doi:10.1007/s00791-014-0224-9: the heaviest edges by ``2 |a_ij| / (a_ii + a_jj)``,
    positive couplings left out. An unknown without a partner waits for the level's next matching, and joins
    its strongest neighbour after the last.

    Along the paths of a linear forest ("paths") every second unknown stays, and those between are means of
    their neighbours on the path, weighted by the entries; then again, along the paths of the matrix
    that results. An unknown on no path takes its strongest neighbour's value. Such prolongators have more
    entries, and so have the coarse matrices, but they fit errors that vary slowly along strong couplings:
    with smoothers along lines, few iterations solve anisotropic problems in whatever direction. A level whose
    matrix would have more than four fifths of the entries before takes aggregates instead.

    The coarsest matrix is inverted as far as it has an inverse.

    For a Hermitian positive definite A every cycle but K is a fixed positive definite operator, for `cg`.
    The K-cycle solves each coarse system by two steps of flexible conjugate gradients (Notay & Vassilevski,
    "Recursive Krylov-based multigrid cycles", 2008, doi:10.1002/nla.542), but for the last four levels of
    deep hierarchies, so that the number of iterations hardly grows with A; it is to be used with `fcg`. For
    other matrices all cycles work, and K's steps make the residual small, but nothing is promised.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy. The hierarchy refers to its arrays where they are in order.
    coarsening : {"auto", "matching", "paths"}
        How unknowns are put together. "auto" is "paths" for smoothers along lines without
        `smooth_prolongation`, else "matching".
    matchings : int
        Matchings for each level, or halvings of paths: one unknown stays of about ``2**matchings``.
    smoother : {"jacobi", "l1_jacobi", "chebyshev", "tridiagonal", "block_tridiagonal"}
        The iteration on each level: Jacobi's, damped by an estimate of the largest eigenvalue; divided by
        the rows' sums of magnitudes; a Chebyshev polynomial of degree 2; or relaxation of whole paths of a
        linear forest, for strong couplings in few directions, whatever these are (Jacobi's on levels where
        these would have to be damped too much).
    cycle : {"K", "V", "W", "F"}
        What `solve` and `aspreconditioner` do where they are not told.
    max_coarse, max_levels : int
        A level of so many unknowns is the last, and so is this one.
    smooth_prolongation : bool
        Smooth the prolongators of "matching" by a Jacobi step: fewer iterations for more entries on the
        coarse levels.
    presmooth, postsmooth : int
        Sweeps before and after the visit of the next level; the same number for a symmetric operator.
    weights : {"coupling", "magnitude"}
        What is matched: as above, or the magnitudes of the entries.
    strength : float
        Couplings below this share of the strongest of both unknowns do not pair them; of "coupling".
    seed : int
        Of the order among equal weights, and of the forests of smoothers.
    dtype : dtype, optional
        The precision to store and to work in, A's own by default.

    Returns
    -------
    Hierarchy
        With `solve`, `aspreconditioner`, `levels`, `update` and the complexities, as PyAMG's have them.
        Where coarsening stalls, it says so, and a RuntimeWarning does.

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
    options = _checked_options(
        coarsening=coarsening, matchings=matchings, smoother=smoother, max_coarse=max_coarse,
        max_levels=max_levels, smooth_prolongation=smooth_prolongation, presmooth=presmooth,
        postsmooth=postsmooth, weights=weights, strength=strength, seed=seed,
    )  # fmt: skip
    check_cycle(cycle)
    setup = Setup(A, dtype)
    part = MultilevelPart.of(setup.csr, setup.stored, cycle, options)
    return Hierarchy(setup.operator(part), A)


def _checked_options(**given: Any) -> dict[str, Any]:
    choices = {"coarsening": COARSENINGS, "smoother": SMOOTHERS, "weights": WEIGHTS}
    least = {"matchings": 1, "max_coarse": 1, "max_levels": 1, "presmooth": 0, "postsmooth": 0}
    options = dict(given)
    for name, allowed in choices.items():
        if given[name] not in allowed:
            wanted = ", ".join(map(repr, allowed))
            raise ValueError(f"{name} must be one of {wanted}, got {given[name]!r}")
    for name, number in least.items():
        options[name] = as_integer(name, given[name])
        if options[name] < number:
            raise ValueError(f"{name} must be at least {number}, got {options[name]}")
    if not options["presmooth"] + options["postsmooth"]:
        raise ValueError("presmooth and postsmooth must not both be 0: nothing would smooth")
    options["seed"] = as_integer("seed", given["seed"]) % 2**64
    options["smooth_prolongation"] = smooth = bool(given["smooth_prolongation"])
    if given["coarsening"] == "auto":
        options["coarsening"] = "paths" if given["smoother"] in LINES and not smooth else "matching"
    elif given["coarsening"] == "paths" and smooth:
        raise ValueError('smooth_prolongation is for coarsening="matching"; "paths" has weights of its own')
    strength = given["strength"]
    if not isinstance(strength, int | float | np.number) or not 0 <= strength <= 1:
        raise ValueError(f"strength must lie in [0, 1], got {strength!r}")
    options["strength"] = float(strength)
    return options


@part_of_kind("multilevel")
@dataclass(frozen=True, eq=False)
class MultilevelPart:
    """The levels of a hierarchy, and the cycle that the operator makes."""

    n: int
    levels: tuple[Level, ...]
    coarsest: Coarsest | None
    cycle: str
    options: dict[str, Any]
    hermitian: bool
    definite: bool  # Hermitian with a positive diagonal: inner steps in A's norm
    centered: bool  # A maps constants to 0: means are left out
    stalled: bool
    _cycles: dict[Any, Cycle] = field(default_factory=dict, repr=False)

    kind = "multilevel"
    forest = ordering = bands = None
    coverage = 1.0

    @classmethod
    def of(cls, csr: CSR, stored: np.dtype, cycle: str, options: dict[str, Any]) -> MultilevelPart:
        """Coarsen a checked matrix until it is small."""
        facts = _facts(csr)
        levels: list[Level] = []
        stalled, fine = False, csr
        while fine.n > options["max_coarse"] and len(levels) + 1 < options["max_levels"]:
            transfer, coarse = _coarsened(fine, options, facts)
            stalled = coarse.n > STALLED_SHARE * fine.n
            if stalled:
                warn_user(_advice(fine.n, coarse.n, options))
                break
            levels.append(Level(fine, _smoother(fine, stored, options, facts), transfer).stored_in(stored))
            fine = coarse
        return cls._ended(levels, fine, stored, cycle, options, facts, stalled)

    @classmethod
    def _ended(cls, levels, csr, stored, cycle, options, facts, stalled) -> MultilevelPart:
        """With the last level."""
        coarsest = Coarsest.of(csr, stored, facts["hermitian"])
        last = Level(csr, None if coarsest else _smoother(csr, stored, options, facts))
        levels = (*levels, last.stored_in(stored))
        return cls(levels[0].csr.n, levels, coarsest, cycle, options, **facts, stalled=stalled)

    @classmethod
    def from_state(cls, levels: Any, coarsest: Any, options: dict[str, Any], **fields: Any) -> MultilevelPart:
        levels = tuple(Level.from_state(**level) for level in levels)
        return cls(levels=levels, coarsest=coarsest, options=dict(options), **fields)

    def state(self) -> dict[str, Any]:
        names = "n", "coarsest", "cycle", "options", "hermitian", "definite", "centered", "stalled"
        return {
            "levels": [level.state() for level in self.levels],
            **{name: getattr(self, name) for name in names},
        }

    def refreshed(self, csr: CSR) -> MultilevelPart:
        """The values of another matrix, for the same aggregates or weights and along the same lines."""
        facts, stored, options = _facts(csr), self.stored, self.options
        levels = []
        for level in self.levels[:-1]:
            transfer = level.transfer.renewed(csr, facts["definite"])
            smoother = level.smoother.refreshed(csr, facts["definite"])
            levels.append(Level(csr, smoother, transfer).stored_in(stored))
            csr = transfer.coarse_csr(csr, facts["hermitian"])
        return self._ended(levels, csr, stored, self.cycle, options, facts, self.stalled)

    def with_cycle(self, cycle: str) -> MultilevelPart:
        """The same hierarchy, cycled otherwise."""
        return self if cycle == self.cycle else replace(self, cycle=cycle, _cycles={})

    @cached_property
    def transposed(self) -> MultilevelPart:
        """The part of the transposed matrix, which smooths before as this one does after."""
        before, after = self.options["presmooth"], self.options["postsmooth"]
        if self.is_symmetric and before == after:
            return self
        options = {**self.options, "presmooth": after, "postsmooth": before}
        if self.is_symmetric:
            return replace(self, options=options, _cycles={})
        coarsest = None if self.coarsest is None else self.coarsest.transposed()
        levels = tuple(level.transposed() for level in self.levels)
        return replace(self, levels=levels, coarsest=coarsest, options=options, _cycles={})

    @property
    def is_symmetric(self) -> bool:
        return self.hermitian and self.stored.kind != "c"

    @property
    def stored(self) -> np.dtype:
        return self.levels[0].csr.data.dtype

    def solve_into(self, b: Any, x: Any, transpose: bool) -> None:
        part = self.transposed if transpose else self
        part._cycle(b.shape[1], transpose).apply(b, x)

    def _cycle(self, columns: int, transpose: bool) -> Cycle:
        """The cycle for so many columns, with its vectors: made once, and kept."""
        if columns not in self._cycles:
            sweeps = self.options["presmooth"], self.options["postsmooth"]
            self._cycles[columns] = Cycle(
                self.levels, self.coarsest, self.cycle, sweeps, columns, self.stored,
                transpose=transpose, definite=self.definite, centered=self.centered,
            )  # fmt: skip
        return self._cycles[columns]

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
            ("coarsening", self.options["coarsening"]),
            ("smoother", self._smoothing()),
            ("coarsest", how + (", stalled" if self.stalled else "")),
            ("null space", "the constants, left out" if self.centered else "none known"),
        ]  # fmt: skip

    def _smoothing(self) -> str:
        """The smoother in words."""
        name, before, after = (self.options[key] for key in ("smoother", "presmooth", "postsmooth"))
        others = [
            str(i) for i, level in enumerate(self.levels) if level.smoother and level.smoother.kind != name
        ]
        instead = f"; jacobi on level {', '.join(others)}, where lines do not pay" if others else ""
        return f"{name}, {before} sweeps before and {after} after{instead}"


def _advice(unknowns: int, left: int, options: dict[str, Any]) -> str:
    """What to say where coarsening stalls."""
    found = (
        f"coarsening stalled at {unknowns} unknowns, above max_coarse={options['max_coarse']}: so few are "
        f"coupled strongly that {left} would stay"
    )
    if options["weights"] == "magnitude":
        return found
    return found + '; try weights="magnitude", or a smaller strength'


def _facts(csr: CSR) -> dict[str, bool]:
    """Whether a matrix is Hermitian, may be definite, and maps constants to 0."""
    backend = backend_of(csr.data)
    hermitian = csr.symmetric and backend.multigrid.strength.is_hermitian(csr)
    if not hermitian or not csr.n:
        return {"hermitian": hermitian, "definite": False, "centered": False}
    definite = bool((csr.diagonal.real > 0).all())  # stall: decides how inner steps are made
    sizes, sums = backend.multigrid.strength.row_sums(csr)
    centered = csr.n > 1 and bool(
        (sums <= 16 * np.finfo(csr.data.dtype).eps * sizes).all()
    )  # stall: likewise
    return {"hermitian": True, "definite": definite, "centered": centered}


def _smoother(csr: CSR, stored: np.dtype, options: dict[str, Any], facts: dict[str, bool]) -> Any:
    return smoother_of(csr, stored, options["smoother"], facts["definite"], options["seed"])


def _coarsened(csr: CSR, options: dict[str, Any], facts: dict[str, bool]) -> tuple[Any, CSR]:
    """The way to the next level, and that level's matrix."""
    how = {name: options[name] for name in ("weights", "strength", "seed")}
    hermitian, count = facts["hermitian"], options["matchings"]
    if options["coarsening"] == "paths":
        found = halved(csr, count, **how, hermitian=hermitian)
        if found is not None:
            return found
    aggregates, coarse = paired(csr, count, **how, hermitian=hermitian)
    if not options["smooth_prolongation"] or coarse.n > STALLED_SHARE * csr.n:
        return aggregates, coarse
    transfer = Interpolation.smoothed_from(aggregates, csr, facts["definite"])
    return transfer, transfer.coarse_csr(csr, hermitian)
