"""Algebraic multigrid by smoothed or pairwise aggregation over ranks."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from linforest_precond.backends.annotations import DType, ScalingName
from linforest_precond.backends.arguments import as_choice, as_dtype, as_integer
from linforest_precond.backends.array_libraries import on_host
from linforest_precond.backends.user_warnings import warn_user, without_numpy_warnings
from linforest_precond.distributed.multigrid.candidate_aggregation import RankCandidateCoarsening
from linforest_precond.distributed.multigrid.hierarchy import RankHierarchy
from linforest_precond.distributed.multigrid.level_matrix import RankLevelMatrix
from linforest_precond.distributed.multigrid.level_setup import RankPart, part_of_ranks
from linforest_precond.distributed.partition.matrix import Matrix, agreed_options, scaled_into_range
from linforest_precond.distributed.partition.preconditioner import set_up
from linforest_precond.distributed.partition.scaling import as_scaling, with_scaling
from linforest_precond.precond.multigrid.multilevel import precision_of
from linforest_precond.precond.multigrid.multilevel_options import AUTO, MultilevelOptions
from linforest_precond.precond.multigrid.near_null_space_options import NearNullSpace
from linforest_precond.precond.multigrid.smoothers import DIAGONAL, LINES

COARSENINGS = AUTO, "smoothed_aggregation", "matching"


@without_numpy_warnings
def multilevel(
    A: Matrix,
    *,
    coarsening: str = AUTO,
    matchings: int | None = None,
    smoother: str = AUTO,
    cycle: str = AUTO,
    max_coarse: int = 1000,
    max_levels: int = 20,
    presmooth: int = 1,
    postsmooth: int = 1,
    weights: str = "coupling",
    strength: float | None = None,
    B: Any = None,
    block_size: int | None = None,
    seed: int = 0,
    dtype: npt.DTypeLike | None = AUTO,
    scaling: ScalingName | None = None,
    gather_below: int = 10_000,
) -> RankHierarchy:
    """Set up an algebraic multigrid hierarchy of a matrix whose rows are partitioned among ranks.

    It is the hierarchy of ``linforest_precond.multilevel(A, ...)`` for any number of ranks, with smoothed
    aggregation around the roots of MIS(2), or with pairwise aggregates: aggregates are the same.
    Prolongators and Galerkin products are sums in the order of one rank, and so have its bits. An aggregate
    is owned by the rank of its root, or of its lowest unknown where pairs are matched. A cycle adds up in the
    order of one rank, too: for real numbers, only the estimates of largest eigenvalues (of the smoothers
    "jacobi", "chebyshev" and "chebyshev3") and the means that are subtracted for matrices with constants in
    their null space agree with one rank's to rounding alone. They, and so all products, have the same bits
    for any number of ranks.

    A level with at most `gather_below` unknowns, and all coarser ones, are on every rank: one exchange of the
    right-hand side instead of many short messages. The other levels have memory in proportion to a rank's own
    unknowns and ghosts. Where pairs of "matching" stall on a level that is too large for that, and for an
    inverse (4,000 unknowns), coarsening ends, and the level is smoothed; one rank would try aggregates around
    roots.

    Parameters
    ----------
    A : Matrix
        The partitioned matrix. All ranks call the function together, with the same options.
    coarsening : {"auto", "smoothed_aggregation", "matching"}
        "auto" is that of one rank, and "matching" where one rank would coarsen along paths.
    matchings : int, optional
        Matchings for each level, 2 by default: the coarsening ratio is about ``2**matchings``.
    smoother : {"auto", "jacobi", "l1_jacobi", "chebyshev", "chebyshev3", "tridiagonal", \
            "block_tridiagonal"}
        "auto" is "chebyshev" for smoothed aggregation of Hermitian matrices with a positive diagonal, which
        needs fewer messages for a solution than "l1_jacobi", that of one rank; "l1_jacobi" for others, and
        "jacobi" for "matching", as on one rank.
    cycle : {"auto", "V", "W", "F", "K"}
        "auto" is "K" for "matching" of Hermitian matrices, else "V". "F" is not symmetric where A is, and "K"
        not linear.
    max_coarse, max_levels, presmooth, postsmooth, weights, strength, seed, dtype
        As in `linforest_precond.multilevel`.
    B : (n_local, k) or (n_local,) array, optional
        This rank's rows of the near-null space candidates, for smoothed aggregation; not adaptive ones.
    block_size : int, optional
        Unknowns of each node, all of which are on one rank.
    scaling : None, "auto", "matching", "equilibrate" or "jacobi"
        As for `linforest_precond.distributed.tridiagonal`; not with B or blocks of unknowns.
    gather_below : int
        Levels with at most this many unknowns are on every rank; the finest only where it is not coarsened
        over ranks.

    Returns
    -------
    RankHierarchy
        With `solve`, `aspreconditioner` and `update`. Where coarsening stalls, `stalled` is True and a
        RuntimeWarning is given on rank 0.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> from linforest_precond import distributed
    >>> A = lf.matrices.poisson((80, 80))
    >>> def history_of(comm):
    ...     parts, history = distributed.scatter(A, comm), lf.solvers.History()
    ...     M = distributed.multilevel(parts, gather_below=500).aspreconditioner()
    ...     distributed.cg(parts, np.ones(parts.n_local), M=M, history=history)
    ...     return history.residuals.tobytes()
    >>> len({distributed.simulate(size, history_of)[0] for size in (1, 2, 3)})
    1
    """
    given = {
        "coarsening": coarsening, "matchings": matchings, "smoother": smoother, "cycle": cycle,
        "max_coarse": max_coarse, "max_levels": max_levels, "presmooth": presmooth,
        "postsmooth": postsmooth, "weights": weights, "strength": strength, "seed": seed,
    }  # fmt: skip
    B = on_host(B)  # stall: setups are on the host
    agreed = agreed_options(A, lambda: _checked(given, gather_below, dtype, B, block_size, scaling))

    def make(exact: Matrix) -> tuple[RankPart, int]:
        finest = RankLevelMatrix(exact)
        with A.comm.checking():
            stored = precision_of(finest, agreed["dtype"])
        return with_scaling(partial(_levels_of, finest, stored, agreed, B), scaling, stored)(exact)

    return RankHierarchy(A, set_up(A, make))


def _levels_of(
    finest: RankLevelMatrix, stored: DType, agreed: dict[str, Any], B: Any, matrix: Matrix
) -> tuple[RankPart, int]:
    """The levels of a matrix, which may be `finest` or have its scaled values: collective."""
    scaled, exponent = scaled_into_range(matrix, stored)
    first = finest if scaled is finest.A else RankLevelMatrix(scaled)
    options, keeping = agreed["options"], None
    with matrix.comm.checking():
        space = NearNullSpace.requested(matrix, B, agreed["block_size"], first, options)
    if space is None:
        chosen = chosen_for(first, options)
    else:
        assert space.candidates is not None  # `_checked` refuses adaptive ones
        chosen = space.options_for(first, options)
        keeping = RankCandidateCoarsening(space.candidates, space.block_size, False, chosen)
    part, stall = part_of_ranks(first, stored, chosen, agreed["gather_below"], keeping)
    if stall and matrix.comm.rank == 0:
        warn_user(stall)
    return part, exponent


def chosen_for(matrix: RankLevelMatrix, options: MultilevelOptions) -> MultilevelOptions:
    """The options of one rank, but for paths, which there are none of, and for the smoother of roots.

    Half as many iterations with Chebyshev polynomials take fewer messages than l1-Jacobi.
    """
    chosen = options.for_matrix(matrix)
    if chosen.coarsening == "paths":
        return replace(options, coarsening="matching").for_matrix(matrix)
    if options.smoother == AUTO and chosen.coarsening == "smoothed_aggregation" and matrix.definite:
        return replace(chosen, smoother="chebyshev")
    return chosen


def _checked(
    given: dict[str, Any], gather_below: Any, dtype: Any, B: Any, block_size: Any, scaling: Any
) -> dict[str, Any]:
    """The options; what only one rank has is refused."""
    as_choice("coarsening over ranks", given["coarsening"], COARSENINGS)
    as_choice("smoother over ranks", given["smoother"], (AUTO, *DIAGONAL, *LINES))
    options = MultilevelOptions.checked(**given, smooth_prolongation=False)
    if isinstance(B, str | tuple):
        raise ValueError(f"B over ranks must be an array of candidates or None, got {B!r}")
    if scaling is not None and (B is not None or block_size is not None):
        raise ValueError(f"scaling over ranks must be None with B or block_size, got {scaling!r}")
    named = dtype is None or (isinstance(dtype, str) and dtype == AUTO)
    return {
        "options": options,
        "scaling": as_scaling(scaling),
        "gather_below": as_integer("gather_below", gather_below, 0),
        "block_size": block_size,
        "the shape of B": None if B is None else np.shape(B)[1:],
        "dtype": dtype if named else as_dtype("dtype", dtype).name,
    }
