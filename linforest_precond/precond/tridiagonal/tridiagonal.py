"""Preconditioners that solve with the tridiagonal part of a permuted matrix (Klein & Strzodka 2022)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from linforest_precond.backends.annotations import (
    Auto,
    Charge,
    Combination,
    MatrixLike,
    OrderingName,
    Permutation,
    Repair,
    ScalingName,
    Ties,
)
from linforest_precond.backends.arguments import as_choice, as_integer
from linforest_precond.backends.user_warnings import without_numpy_warnings
from linforest_precond.graph.forest import pipeline
from linforest_precond.graph.forest.factor import begin_factor, check_options
from linforest_precond.graph.forest.pairs import check_block_options
from linforest_precond.precond.kinds import Candidacy, Cost, Face, Kind, Sizes, Variant, register
from linforest_precond.precond.parts.lockstep import completed
from linforest_precond.precond.preconditioner import Preconditioner
from linforest_precond.precond.scaling.matrix_scaling import MatrixScaling
from linforest_precond.precond.setup import Setup
from linforest_precond.precond.tridiagonal.several_forests import (
    COMBINATIONS,
    MOST_FORESTS,
    MOST_STEPS,
    SeveralForestsPart,
)
from linforest_precond.precond.tridiagonal.several_forests import SCHEMA as SEVERAL_FORESTS
from linforest_precond.precond.tridiagonal.tridiagonal_part import (
    REPAIRS,
    SCHEMAS,
    TridiagonalPart,
    block_part,
    scalar_part_in_steps,
)
from linforest_precond.records.forest import Forest

ORDERINGS = "forest", "original", "rcm"


@without_numpy_warnings
def tridiagonal(
    A: MatrixLike,
    ordering: OrderingName | Forest | Permutation = "forest",
    *,
    values: npt.ArrayLike | None = None,
    dtype: npt.DTypeLike | None = None,
    scaling: ScalingName | MatrixScaling | None = None,
    seed: int = 0,
    iterations: int | Auto | None = "auto",
    m: int = 5,
    k_m: int = 0,
    p: float = 0.5,
    charge: Charge = "splitmix64",
    ties: Ties = "auto",
    repair: Repair = "auto",
    forests: int = 1,
    combine: Combination = "multiplicative",
    polynomial: int = 1,
) -> Preconditioner:
    """Solve with the tridiagonal part of A along the heavy paths of a linear forest.

    AlgTriScalPrecond in section 6 of Klein & Strzodka, "Highly Parallel Linear Forest Extraction from a
    Weighted Graph on GPUs" (2022), doi:10.1145/3545008.3545035. The rows are permuted to the order of a
    linear forest of A, which moves large entries next to the diagonal; the tridiagonal part of the permuted
    matrix is factored once and solved in every application. For a symmetric A the operator is symmetric; if
    the diagonal of A is positive too, it is positive definite: where the tridiagonal part is not, its
    off-diagonal entries are clipped.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy.
    ordering : "forest", "original", "rcm", Forest or permutation
        The order of the rows: that of a linear forest of A, A's own (the paper's TriScalPrecond), its reverse
        Cuthill-McKee order, that of a given forest on A's device, or a permutation,
        ``ordering[new] = old``.
    values : (k, nnz) array, optional
        Of a stack of k systems with A's pattern, one in each row; see Notes. A is then in CSR or CSC, and its
        own values are not read.
    dtype : dtype, optional
        The precision to store and solve in, A's own by default: float32 inside a float64 solver is faster.
    scaling : None, "auto", "matching", "equilibrate", "jacobi" or MatrixScaling
        Set up for a scaled and permuted matrix (`linforest_precond.scaling`), and still act on A itself.
        "auto" takes "matching" where a diagonal entry is 0 or below 2**-10 times the geometric mean of the
        largest entries of its row and column, None elsewhere.
    seed, iterations, m, k_m, p, charge, ties
        Options of `linforest_precond.linear_forest`.
    repair : {"auto", "none"}
        "auto" clips couplings, so that the operator is not worse than the diagonal: of all paths where that
        makes a Hermitian matrix with a positive diagonal definite; of other matrices, of the paths with a
        pivot below a quarter of its diagonal entry, or of the other sign, and below the weight that its row
        neglects, if they hold less than two thirds of their rows' off-diagonal weight. The product of both
        couplings of two rows becomes at most ``0.4995**2`` of that of their diagonal entries. Tiny pivots are
        perturbed. "none" solves with the bands as they are; only a pivot that is exactly zero is replaced.
    forests : int
        With several, the second forest is one of the edges that the first has left, and so on: Klein's
        products of tridiagonal preconditioners. `M` then keeps A, and one product of three forests makes 5
        tridiagonal solves and 4 products with A. That pays where iterations cost more than the products:
        inner products and latency.
    combine : {"multiplicative", "additive"}
        How several forests are applied: in a symmetric sweep 1-2-3-2-1 of ``x += T^-1 (b - A x)``, or added,
        weighted by their coverages (without products with A). A tridiagonal T of a sweep is scaled where the
        largest eigenvalue of ``T^-1 A``, as estimated, exceeds 1.8: for positive definite A and T, the sweep
        is then positive definite.
    polynomial : int
        The number of steps of an iteration with this operator that one product makes: a Chebyshev polynomial
        where A is Hermitian and everything positive definite, else a truncated Neumann series.

    Returns
    -------
    Preconditioner
        A LinearOperator of A's library.

    Notes
    -----
    With `values`, M is that of ``lf.matrices.block_diagonal(A, values)``, bit for bit: one setup for all
    systems, at the speed of one large matrix. M has the shape ``(k n, k n)``, ``M.systems`` is ``(k, n)``,
    and ``M @ R`` also takes R of shape (k, n), one right-hand side for each system, or (k, n, m).
    ``M.update(A, values=others)`` takes new values. `ordering` is that of the block diagonal matrix.

    Paths do not leave their system. In A's own order, and along forests without charges (``m=1,
    iterations=None``), the bands are those of k single setups. Charges and random ties are drawn by the
    number of the row in the block diagonal matrix, so that other forests differ from those of single setups,
    with about the same coverage. What is decided for a whole matrix is decided for all systems at once: if
    one is not symmetric, needs pivoting, or is clipped to be definite, all are treated so. Where bands and
    decisions are the same, products agree with those of single setups to rounding.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> from scipy.sparse.linalg import cg
    >>> A = lf.matrices.aniso(2, 50)
    >>> M = lf.tridiagonal(A)
    >>> x, info = cg(A, A.sum(axis=1), M=M)
    >>> info, M.kind, round(M.coverage, 2)
    (0, 'tridiagonal', 0.67)

    Three systems with one pattern, and a right-hand side for each:

    >>> import numpy as np
    >>> A = lf.matrices.poisson(4)
    >>> M = lf.tridiagonal(A, values=np.stack([A.data, 2 * A.data, 4 * A.data]))
    >>> (M @ np.ones((3, 4))).round(3).tolist()
    [[2.0, 3.0, 3.0, 2.0], [1.0, 1.5, 1.5, 1.0], [0.5, 0.75, 0.75, 0.5]]
    """
    options = check_options(2, iterations, m, k_m, p, seed, charge, ties)
    as_choice("repair", repair, REPAIRS)
    if isinstance(ordering, str) and ordering not in ORDERINGS:
        raise ValueError(
            f'ordering must be "forest", "original", "rcm", a Forest or a permutation, got {ordering!r}'
        )
    by_rcm = isinstance(ordering, str) and ordering == "rcm"
    forests, polynomial = _checked_counts(forests, combine, polynomial, ordering)
    several = forests > 1 or polynomial > 1
    shared = not by_rcm and not several and scaling is None
    along_forest = isinstance(ordering, str) and ordering == "forest"
    begin = begin_factor(options) if shared and along_forest else None
    setup = Setup(A, dtype, values=values, shared=shared, begin=begin, scaling=scaling)
    csr, stored = setup.csr, setup.stored
    if forests > 1:
        found = pipeline.bands_along_forests(csr, options, forests)
        parts = [completed(TridiagonalPart.along_forest(csr, stored, *each, repair)) for each in found]
    else:
        parts = [completed(scalar_part_in_steps(csr, stored, ordering, options, repair))]
    if several:
        return setup.operator(SeveralForestsPart.of(csr, parts, combine, polynomial))
    return setup.operator(parts[0])


def _checked_counts(forests: Any, combine: Any, polynomial: Any, ordering: Any) -> tuple[int, int]:
    forests = as_integer("forests", forests, 1, MOST_FORESTS)
    polynomial = as_integer("polynomial", polynomial, 1, MOST_STEPS)
    as_choice("combine", combine, COMBINATIONS)
    if forests > 1 and not (isinstance(ordering, str) and ordering == "forest"):
        raise ValueError('forests must be 1 unless ordering is "forest": other orderings give one forest')
    return forests, polynomial


@without_numpy_warnings
def block_tridiagonal(
    A: MatrixLike,
    block_size: int = 2,
    *,
    values: npt.ArrayLike | None = None,
    m: int | tuple[int, ...] | Auto = "auto",
    dtype: npt.DTypeLike | None = None,
    scaling: ScalingName | MatrixScaling | None = None,
    seed: int = 0,
    iterations: int | Auto | None = "auto",
    k_m: int = 0,
    p: float = 0.5,
    charge: Charge = "splitmix64",
    ties: Ties = "auto",
    repair: Repair = "auto",
) -> Preconditioner:
    """Solve with the block tridiagonal part of A along heavy paths of small blocks.

    AlgTriBlockPrecond in section 6 of Klein & Strzodka (2022), doi:10.1145/3545008.3545035. A [0,1]-factor
    pairs the vertices, the pairs are the vertices of a coarse graph, and a linear forest of the coarse graph
    gives the order. The bands hold the entries inside pairs and between neighbouring pairs: a higher coverage
    than that of `tridiagonal`, at a higher cost.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy.
    block_size : int
        2, or 4: pairs of pairs.
    values : (k, nnz) array, optional
        Of a stack of k systems with A's pattern, as for `tridiagonal`.
    m : int, tuple of int or "auto"
        As in `linforest_precond.graph.factor`, for all factors, or for each of them, pairings first; "auto"
        tries 1 and 5, and pairs across neighbouring paths, and takes the highest coverage.
    dtype : dtype, optional
        The precision to store and solve in, A's own by default.
    scaling : None, "auto", "matching", "equilibrate", "jacobi" or MatrixScaling
        As for `tridiagonal`: set up for a scaled and permuted matrix, and still act on A itself.
        Pairs of a symmetric matching are the first pairs of the blocks.
    seed, iterations, k_m, p, charge, ties
        Options of `linforest_precond.graph.factor`, for each of the factors.
    repair : {"auto", "none"}
        As for `tridiagonal`; a coupling block U of diagonal blocks D and D' is measured by the Frobenius norm
        of ``D^-1 U``, and a pivot block P by the diagonal entries of ``P^-1 D``.

    Returns
    -------
    Preconditioner
        A LinearOperator of A's library.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> M = lf.block_tridiagonal(lf.matrices.aniso(1, 50))
    >>> M.bands.diagonal.shape[1:], M.forest.m
    ((2, 2), (1, 1))
    """
    candidates = check_block_options(block_size, m, iterations, k_m, p, seed, charge, ties)
    as_choice("repair", repair, REPAIRS)
    setup = Setup(A, dtype, values=values, shared=scaling is None, scaling=scaling)
    partners = None if setup.scaling is None else setup.scaling.partners
    return setup.operator(block_part(setup.csr, setup.stored, candidates, repair, partners))


def memory_of_paths(sizes: Sizes, options: Mapping[str, Any]) -> tuple[int, int]:
    ordering = options["ordering"]
    operator, setup = _one_system(sizes, ordering)
    forests, polynomial = _checked_counts(
        options["forests"], COMBINATIONS[0], options["polynomial"], ordering
    )
    if forests > 1 or polynomial > 1:
        return _several_forests(sizes, operator, setup, forests)
    return operator, setup


def _one_system(sizes: Sizes, ordering: Any) -> tuple[int, int]:
    """A forest has eight indices and two weights per row, a solver three bands and the pivots."""
    index, weight = sizes.index, sizes.weight
    by_name = ordering if isinstance(ordering, str) else None
    if by_name == "original":
        order, search = 0, 5 * index
    elif by_name == "forest" or isinstance(ordering, Forest):
        order, search = 8 * index + 2 * weight, 0
    else:
        order, search = 2 * index, 3 * index
    operator = (order + 4 * sizes.stored) * sizes.rows
    bands = (order + search + 3 * sizes.value + _solving(sizes)) * sizes.rows
    if by_name == "rcm":
        # The pattern with single-precision ones; neighbours sorted by degree; the state of each vertex.
        pattern = replace(sizes, value=4, weight=4)
        traversal = pattern.graph + 24 * sizes.entries + 80 * sizes.rows
        return operator, max(pattern.graph_in_making, traversal, bands)
    if by_name != "forest":
        return operator, bands
    return operator, max(
        sizes.graph_in_making, sizes.graph + _forest(sizes) * sizes.rows, sizes.graph + bands
    )


def _several_forests(sizes: Sizes, operator: int, setup: int, forests: int) -> tuple[int, int]:
    """One operator per forest with scaled copies of its bands; A; the remaining graph; vectors."""
    scaled = 7 * sizes.stored * sizes.rows
    matrix = (sizes.index + sizes.stored) * sizes.entries + (sizes.index + sizes.stored) * sizes.rows
    graph = sizes.weight * sizes.entries * (1 if sizes.symmetric else 2)
    held = forests * operator + matrix
    return held, held + setup + graph + forests * scaled + 16 * sizes.value * sizes.rows


def memory_of_blocks(sizes: Sizes, options: Mapping[str, Any]) -> tuple[int, int]:
    """At most as many blocks as vertices; every pairing makes a coarse graph, and "auto" two forests."""
    block_size = options["block_size"]
    if block_size not in (1, 2, 4):
        raise ValueError(f"block_size must be 1, 2 or 4, got {block_size!r}")
    index, weight, rows = sizes.index, sizes.weight, sizes.rows
    forest = ((block_size + 6) * index + 2 * weight) * rows
    operator = forest + 4 * block_size**2 * sizes.stored * rows
    coarse = (index + weight) * sizes.entries * (block_size.bit_length() if block_size > 1 else 0)
    pairing = forest + coarse + (_forest(sizes) + 6 * index) * rows
    bands = 2 * forest + block_size**2 * (3 * sizes.value + _solving(sizes)) * rows
    return operator, max(sizes.graph_in_making, sizes.graph + pairing, sizes.graph + bands)


def _forest(sizes: Sizes) -> int:
    """Bytes per row: the arrays of the factor and the forest, and the levels of list ranking."""
    return 7 * sizes.index + 2 * sizes.weight + 64


def _solving(sizes: Sizes) -> int:
    """Bytes per row: bands in the stored type, clipped bands, pivots twice and those of the groups."""
    return 6 * sizes.stored + 2 * sizes.stored + np.dtype(np.float64).itemsize


ORIGINAL = Variant(
    "tridiagonal_original", "tridiagonal, original order", {"ordering": "original"}, ("original", "triscal")
)


def _share(facts: Any) -> float:
    """Couplings on paths are solved exactly. With layers, the share 1 - w that others have of the weight
    divides the condition number, whose square root the iterations follow; paths cover less of other graphs.
    """
    return 1.0 if facts.needs_matching else max(1e-4, 1 - facts.heavy_share**1.5) ** 0.5


FACE = Face(
    tridiagonal,
    "tridiagonal, linear forest",
    memory_of_paths,
    setup_products=10,
    aliases=("algtriscal",),
    variants=(ORIGINAL,),
    candidates=(
        Candidacy("cpu", setup=Cost(3e3, 50), application=Cost(100, 0.9), share=_share),
        # Of other matrices, the bands would be solved with pivoting, which is slow on a GPU.
        Candidacy(
            "cuda", setup=Cost(360, 10), application=Cost(1.5, 0.5), share=_share,
            fits=lambda facts: facts.looks_easy,
        ),
    ),
)  # fmt: skip
BLOCK_FACE = Face(
    block_tridiagonal,
    "2 x 2 block tridiagonal, forest",
    memory_of_blocks,
    setup_products=60,
    aliases=("block", "algtriblock"),
)
register(Kind("tridiagonal", SCHEMAS["tridiagonal"], face=FACE))
register(Kind("block_tridiagonal", SCHEMAS["block_tridiagonal"], face=BLOCK_FACE))
register(Kind("several_forests", SEVERAL_FORESTS, follows_indices=True))
