"""`multilevel` sets up algebraic multigrid by smoothed aggregation, pairwise aggregation or along paths."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from linforest_precond.backends.annotations import (
    CoarseningName,
    CouplingWeights,
    CycleName,
    DType,
    MatrixLike,
    ScalingName,
    SmootherName,
)
from linforest_precond.backends.user_warnings import warn_user, without_numpy_warnings
from linforest_precond.graph.matching.repeated_coarsening import is_stalled
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.precond.kinds import Candidacy, Cost, Face, Kind, Sizes, register
from linforest_precond.precond.multigrid.candidate_coarsening import coarsening_of
from linforest_precond.precond.multigrid.grid_transfer import GridTransfer, Interpolation
from linforest_precond.precond.multigrid.hierarchy import Hierarchy
from linforest_precond.precond.multigrid.level_matrix import LevelMatrix
from linforest_precond.precond.multigrid.multilevel_options import AUTO, MultilevelOptions
from linforest_precond.precond.multigrid.multilevel_part import SCHEMA, part_of_levels
from linforest_precond.precond.multigrid.near_null_space_options import NearNullSpace
from linforest_precond.precond.multigrid.pairwise_aggregation import aggregate_pairwise, coarsen_along_paths
from linforest_precond.precond.multigrid.prolongation import fills_up
from linforest_precond.precond.multigrid.root_aggregates import RootAggregates
from linforest_precond.precond.parts.number_types import stored_dtype
from linforest_precond.precond.scaling.matrix_scaling import MatrixScaling
from linforest_precond.precond.setup import Setup

# Aggregates by couplings of one sign are many if they exceed this share of the unknowns.
MOST_SIGNED = 0.5
# Smaller matrices are kept in double precision: their cycles are bound by latency.
LEAST_NARROW = 2**16
# Matrices whose diagonal entries differ by a larger factor are kept in double precision, too.
MOST_DIAGONAL_RATIO = 1e18
# For memory estimates: operator complexity and rows of the coarsest level with default options.
COMPLEXITY = 1.7
MAX_COARSE = 1000


@without_numpy_warnings
def multilevel(
    A: MatrixLike,
    *,
    coarsening: CoarseningName = "auto",
    matchings: int | None = None,
    smoother: SmootherName = "auto",
    cycle: CycleName = "auto",
    max_coarse: int = 1000,
    max_levels: int = 20,
    smooth_prolongation: bool = False,
    presmooth: int = 1,
    postsmooth: int = 1,
    weights: CouplingWeights = "coupling",
    strength: float | None = None,
    B: Any = None,
    block_size: int | None = None,
    seed: int = 0,
    dtype: npt.DTypeLike | None = AUTO,
    scaling: ScalingName | MatrixScaling | None = None,
) -> Hierarchy:
    """Set up an algebraic multigrid hierarchy of A.

    Smoothed aggregation, the default: Vanek, Mandel & Brezina, "Algebraic multigrid by smoothed aggregation
    for second and fourth order elliptic problems" (1996), doi:10.1007/BF02238511. The roots of the aggregates
    are a maximal set of unknowns that are more than two strong couplings apart, MIS(2), as in Bell, Dalton &
    Olson, "Exposing fine-grained parallelism in algebraic multigrid methods" (2012), doi:10.1137/110838844.
    Strength of connection is ``|a_ij| / sqrt(a_ii a_jj)`` where the signs of coupling and diagonal differ.
    Rows whose diagonal is five times the sum of the other magnitudes are left to the smoother. Few levels,
    each visited once by the V-cycle, make it the fastest on a GPU.

    Pairwise aggregates ("matching") come from matchings, as in Notay, "An aggregation-based algebraic
    multigrid method" (2010), and D'Ambra & Vassilevski, "Adaptive AMG with coarsening based on compatible
    weighted matching" (2013), doi:10.1007/s00791-014-0224-9. Strength of connection is ``2 |a_ij| / (a_ii +
    a_jj)``; positive couplings are left out. An unknown that is not matched takes part in the level's next
    matching, and joins its strongest neighbour after the last.

    Along the paths of a linear forest ("paths") every second unknown is kept, and those between are
    interpolated from their neighbours on the path, weighted by the entries; then again, along the paths of
    the Galerkin product. An unknown on no path takes its strongest neighbour's value. Such prolongators have
    more entries, and so have the coarse matrices, but they fit errors that vary slowly along strong
    couplings: with line smoothers, few iterations solve anisotropic problems in whatever direction. A level
    whose matrix would have more than four fifths of the entries of the level above takes aggregates instead.

    The coarsest level is solved by the dense (pseudo-)inverse.

    For a Hermitian positive definite A every cycle but K is a fixed positive definite operator, for `cg`.
    The K-cycle solves the systems of every second level by two steps of flexible conjugate gradients (Notay &
    Vassilevski, "Recursive Krylov-based multigrid cycles", 2008, doi:10.1002/nla.542), but for the last four
    levels of deep hierarchies, so that the number of iterations hardly grows with A; it is to be used with
    `fcg`. For other matrices all cycles work, and K's steps minimize the residual, but convergence is not
    guaranteed.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy. The hierarchy refers to A's own arrays where they need no conversion.
    coarsening : {"auto", "smoothed_aggregation", "matching", "paths"}
        How coarse levels are made. "auto" is "paths" for line smoothers and for matrices that are neither
        Hermitian nor diagonally dominant in nine of ten rows, "matching" where `matchings` or
        `smooth_prolongation` are given, else "smoothed_aggregation". Where aggregation leaves too many
        unknowns, couplings of any sign count, and then pairs are matched.
    matchings : int, optional
        Matchings for each level, or coarsenings along paths: the coarsening ratio is about ``2**matchings``.
        2 by default, 3 with `smooth_prolongation`: on grids of three dimensions the coarse matrices fill up
        with 2.
    smoother : {"auto", "jacobi", "l1_jacobi", "chebyshev", "chebyshev3", "tridiagonal", \
            "block_tridiagonal", "approximate_inverse", "gauss_seidel"}
        The iteration on each level: Jacobi's, damped by an estimate of the largest eigenvalue; l1-Jacobi,
        which divides by the rows' sums of magnitudes and needs no estimate; a Chebyshev polynomial of degree
        2 or 3; or line relaxation along the paths of a linear forest, for strong couplings in few directions,
        whatever these are (Jacobi's on levels where line relaxation would have to be damped too much); or
        steps with the `approximate_inverse` of each level, of 20 entries in each row: the strongest of them,
        and the dearest; or symmetric sweeps of `gauss_seidel` by colours.
        "auto" is "chebyshev3" with `B` or `block_size`; "l1_jacobi" for other smoothed aggregation,
        "chebyshev" if rows sum to more than 2.5 times the diagonal on average; "tridiagonal" for paths of
        nonsymmetric matrices; else "jacobi".
    cycle : {"auto", "V", "W", "F", "K"}
        The default of `solve` and `aspreconditioner`. "auto" is "K" for plain prolongators of Hermitian
        matrices, else "V". The F-cycle is a fixed operator but not symmetric: its second visit to a level is
        a V-cycle. The K-cycle is not linear. Both need a flexible method such as `fcg`.
    max_coarse, max_levels : int
        A level with at most this many unknowns is the last, and so is the level with this number.
    smooth_prolongation : bool
        Smooth the prolongators of "matching" by a Jacobi step: fewer iterations for more entries on the
        coarse levels.
    presmooth, postsmooth : int
        Sweeps before and after the coarse-grid correction; the same number for a symmetric operator.
    weights : {"coupling", "magnitude"}
        Strength of connection: as above, or the magnitudes of the entries.
    strength : float, optional
        Couplings below this share of the strongest of both unknowns are weak: 0.4 by default for smoothed
        aggregation, else 0.5; of "coupling".
    B : (n, k) or (n,) array, "adaptive" or ("adaptive", k), optional
        Near-null space candidates for smoothed aggregation, on A's device, as PyAMG's: vectors that A maps to
        almost zero, at most 32. Coarse levels represent them exactly. For elasticity they are the
        `rigid_body_modes`; without any, constants are kept, of each component where `block_size` is given.
        Adaptive candidates, 3 by default, come from the matrix alone, for a longer setup: random vectors are
        smoothed, then improved by a first hierarchy (Brezina et al., "Adaptive smoothed aggregation (alpha
        SA) multigrid", 2005, doi:10.1137/050626272). A must then be Hermitian positive definite.
    block_size : int, optional
        Unknowns of each node of a system, one after the other, at most 32: whole nodes are aggregated. By
        default that of a BSR matrix with square blocks, else 1.
    seed : int
        Of the order among equal weights, of the roots, of adaptive candidates, and of the forests of line
        smoothers.
    dtype : dtype, "auto" or None
        The precision that cycles store and work in. None is A's own. "auto" is single precision for matrices
        of double precision with at least 65,536 rows, unless their diagonals differ too much in size.
    scaling : None, "auto", "matching", "equilibrate", "jacobi" or MatrixScaling
        Set up for a scaled and permuted matrix (`linforest_precond.scaling`), whose levels are shown, and
        still act on A itself. "auto" takes "matching" where a diagonal entry is 0 or below 2**-10 times the
        geometric mean of the largest entries of its row and column, None elsewhere. Not with `B` or
        `block_size`, which describe A's own unknowns.

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
    [10000, 1412, 163]
    >>> history = lf.solvers.History()
    >>> x, info = lf.solvers.cg(A, np.ones(10000), rtol=1e-8, M=ml.aspreconditioner(), history=history)
    >>> info, len(history) < 25
    (0, True)

    Linear elasticity, with the rigid body modes as candidates:

    >>> A, coordinates = lf.matrices.elasticity((60, 15))
    >>> ml = lf.multilevel(A, B=lf.rigid_body_modes(coordinates), block_size=2)
    >>> x, info = ml.solve(np.ones(A.shape[0]), tol=1e-8, maxiter=20, return_info=True)
    >>> info
    0
    """
    options = MultilevelOptions.checked(
        coarsening=coarsening, matchings=matchings, smoother=smoother, cycle=cycle,
        max_coarse=max_coarse, max_levels=max_levels, smooth_prolongation=smooth_prolongation,
        presmooth=presmooth, postsmooth=postsmooth, weights=weights, strength=strength, seed=seed,
    )  # fmt: skip
    finest, setup = checked_matrix(A, dtype, scaling)
    A = setup.given.given
    space = NearNullSpace.requested(A, B, block_size, finest, options)
    if space is not None and setup.scaling is not None:
        raise ValueError(
            "scaling must be None with B and with blocks of unknowns (block_size, or those of a BSR matrix: "
            f"pass block_size=1), got {scaling!r}"
        )
    if space is None:
        options = options.for_matrix(finest)
        if options.coarsening == "smoothed_aggregation" and options.coarsens(finest):
            csr = finest.csr
            csr.backend.prefetch("smoothed_aggregation", csr, setup.stored, finest.hermitian)
        part, stall = part_of_levels(
            finest, setup.stored, options, lambda matrix: coarsen_level(matrix, options), options.stall_cause
        )
    else:
        options = space.options_for(finest, options)
        keeping = coarsening_of(space, finest, options)
        part, stall = part_of_levels(finest, setup.stored, options, keeping, keeping.stall_cause)
    if stall:
        warn_user(stall)
    return Hierarchy(setup.operator(part), A)


def checked_matrix(
    A: MatrixLike, dtype: npt.DTypeLike | None, scaling: ScalingName | MatrixScaling | None
) -> tuple[LevelMatrix, Setup]:
    """The finest matrix and its setup; what its rows show, of which the precision depends, is found once."""
    given: list[LevelMatrix] = []

    def choose(csr: CheckedMatrix, dtype: npt.DTypeLike | None) -> DType:
        given.append(LevelMatrix(csr))
        return precision_of(given[0], dtype)

    setup = Setup(A, dtype, choose=choose, scaling=scaling)
    finest = given[0] if setup.csr is given[0].csr else LevelMatrix(setup.csr)
    return finest, setup


def precision_of(matrix: LevelMatrix, dtype: npt.DTypeLike | None) -> DType:
    """The type to store numbers in; for "auto", single precision where that saves time and loses nothing."""
    own = matrix.csr.data.dtype
    narrow = {"d": np.dtype(np.float32), "D": np.dtype(np.complex64)}.get(own.char)
    if not (isinstance(dtype, str) and dtype == AUTO):
        return stored_dtype(dtype, own)
    if narrow is None or matrix.n < LEAST_NARROW:
        return own
    smallest, largest = matrix.facts.smallest_diagonal, matrix.facts.largest_diagonal
    return narrow if largest <= MOST_DIAGONAL_RATIO * smallest else own


def coarsen_level(matrix: LevelMatrix, options: MultilevelOptions) -> tuple[GridTransfer, LevelMatrix]:
    """The grid transfer to the next level, and that level's matrix."""
    if options.coarsening == "smoothed_aggregation":
        transfer = smoothed_aggregation(matrix, options)
        if transfer is not None:
            return transfer, transfer.coarse_matrix(matrix)
        return pairwise(matrix, replace(options, weights="magnitude"))
    found: tuple[GridTransfer, LevelMatrix] | None = None
    if options.coarsening == "paths":
        found = coarsen_along_paths(
            matrix, options.matchings, options.weights, options.strength, options.seed
        )
    if found is None:
        found = pairwise(matrix, options)
    if is_stalled(matrix.n, found[1].n):
        transfer = smoothed_aggregation(matrix, options)
        if transfer is not None:
            return transfer, transfer.coarse_matrix(matrix)
    return found


def pairwise(matrix: LevelMatrix, options: MultilevelOptions) -> tuple[GridTransfer, LevelMatrix]:
    """The transfer by aggregates of pairs, smoothed on request, and the next level's matrix."""
    connection = options.weights, options.strength, options.seed
    aggregates = aggregate_pairwise(matrix, options.matchings, *connection)
    if options.smooth_prolongation and not is_stalled(matrix.n, aggregates.count):
        smoothed = Interpolation.smoothed_from(aggregates, aggregates.smoothed(matrix))
        return smoothed, smoothed.coarse_matrix(matrix)
    return aggregates, aggregates.coarse_matrix(matrix)


def smoothed_aggregation(matrix: LevelMatrix, options: MultilevelOptions) -> Interpolation | None:
    """The smoothed prolongator of aggregates around roots; None where too few unknowns are coupled.

    It is not smoothed where the coarse matrix would fill up: next to hubs, all unknowns would be coupled.
    """
    aggregates, strong = root_aggregates(matrix, options)
    if is_stalled(matrix.n, aggregates.count):
        return None
    transfer = Interpolation.smoothed_from(*aggregates.smoothed(matrix, strong))
    if fills_up(matrix.csr, transfer.prolongator):
        return Interpolation.of(aggregates.tentative(matrix.csr.data.dtype))
    return transfer


def root_aggregates(
    matrix: LevelMatrix, options: MultilevelOptions, aggregate: Callable[..., Any] = RootAggregates.of
) -> tuple[Any, Any]:
    """The aggregates by couplings of the opposite sign of the diagonal, and the strong couplings."""
    connection = matrix, options.strength, options.seed
    if options.weights == "magnitude":
        return aggregate(*connection, signed=False)
    found = aggregate(*connection, signed=True)
    if found[0].count <= MOST_SIGNED * matrix.n:
        return found
    return min(found, aggregate(*connection, signed=False), key=lambda each: each[0].count)


def memory_of_levels(sizes: Sizes, options: Mapping[str, Any]) -> tuple[int, int]:
    """The matrices of all levels, prolongators with half as many entries, restrictions where A is not
    symmetric, the inverse of the coarsest matrix, and the aggregates."""
    copies = 1.5 if sizes.symmetric else 2.0

    def held(value: int) -> int:
        matrices = (sizes.index + value) * (copies * sizes.entries + sizes.rows)
        vectors = (3 * sizes.index + value) * sizes.rows
        return int(COMPLEXITY * (matrices + vectors)) + value * min(sizes.rows, MAX_COARSE) ** 2

    weights = np.dtype(np.float64).itemsize
    graph = replace(sizes, value=weights, weight=weights)
    pairing = (weights + 2 * (sizes.index + sizes.value)) * sizes.entries + 8 * sizes.value * sizes.rows
    return held(sizes.stored), held(max(sizes.stored, sizes.value)) + graph.graph_in_making + pairing


def _cycles(facts: Any) -> float:
    """For scalar equations, 18 iterations are expected for 8 digits."""
    return 18.0 if facts.is_elliptic or facts.is_scalar_stiffness else 0.0


FACE = Face(
    multilevel,
    "algebraic multigrid",
    memory_of_levels,
    setup_products=100,
    is_hierarchy=True,
    candidates=(
        Candidacy(
            "cpu", setup=Cost(7.5e3, 210), application=Cost(150, 7.0), share=0.35, cycles=_cycles,
            is_definite=False, options={"max_coarse": 300},
        ),
        Candidacy(
            "cuda", setup=Cost(700, 110), application=Cost(3.5, 8.0), share=0.35, cycles=_cycles,
            is_definite=False,
        ),
    ),
)  # fmt: skip
register(Kind("multilevel", SCHEMA, follows_indices=True, face=FACE))
