"""Estimates of the memory of a preconditioner, from the size of the matrix alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from linforest_precond.backends import backend_of
from linforest_precond.backends.annotations import MatrixLike
from linforest_precond.interop.dlpack import native_matrix
from linforest_precond.matrix.checks import value_dtype
from linforest_precond.matrix.conversion import LARGEST_INT32_COUNT
from linforest_precond.precond.number_types import stored_dtype
from linforest_precond.precond.scaling.matrix_scaling import MatrixScaling
from linforest_precond.precond.scaling.methods import check_scaling
from linforest_precond.records.forest import Forest
from linforest_precond.records.printing import Printed, Printout

# Of hierarchies with default options: the operator complexity, and the most rows of the coarsest level.
COMPLEXITY = 1.7
MAX_COARSE = 1000
# Entries of a row of an approximate inverse.
ENTRIES = 20


@dataclass(frozen=True, repr=False)
class MemoryEstimate(Printed):
    """Bytes on A's device, without those of A itself.

    Attributes
    ----------
    operator
        The bytes of the finished operator.
    setup
        The peak during the setup, with the operator.
    """

    operator: int
    setup: int

    def _printout(self) -> Printout:
        return Printout.of(
            "memory", ("operator", f"{self.operator:,} bytes"), ("setup", f"{self.setup:,} bytes")
        )


@dataclass(frozen=True)
class _Sizes:
    """The quantities of the formulas: rows, entries, and the bytes of an index and of values."""

    rows: int
    entries: int
    index: int
    value: int
    weight: int
    stored: int
    symmetric: bool
    copied: bool  # A is not in CSR format, and is converted

    @property
    def graph(self) -> int:
        """Bytes of the graph; none for a symmetric real matrix, which is its own graph."""
        if self.symmetric:
            return 0 if self.weight == self.value else self.weight * self.entries
        return 2 * (self.index + self.weight) * self.entries + self.index * self.rows

    @property
    def graph_in_making(self) -> int:
        """Peak bytes while A' + A'^T is formed: rows, sums, and the sorted entries without a mirror entry."""
        return self.graph + (0 if self.symmetric else (3 * self.index + 2 * self.weight + 24) * self.entries)

    @property
    def gate(self) -> int:
        """Bytes of the checks: the diagonal, the results of the scan, copied indices or converted CSR."""
        copies = self.index * (self.rows + self.entries)
        if self.copied:
            copies = (2 * self.index + 2 * self.value + 40) * self.entries
        return (
            (self.value + 16) * self.rows + self.weight * self.entries * (self.weight < self.value) + copies
        )


def memory_estimate(
    A: MatrixLike,
    kind: str = "tridiagonal",
    *,
    ordering: str | Forest | npt.ArrayLike = "forest",
    block_size: int = 2,
    dtype: npt.DTypeLike | None = None,
    forests: int = 1,
    polynomial: int = 1,
    scaling: str | MatrixScaling | None = None,
    symmetric: bool = False,
) -> MemoryEstimate:
    """Estimate the memory of a preconditioner from the shape, type and number of entries of A.

    Nothing is set up, and A's entries are not read. Block tridiagonal preconditioners need less where most
    vertices are matched, and systems that need pivoting may need more.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy.
    kind : {"tridiagonal", "block_tridiagonal", "jacobi", "block_jacobi", "ilu", "approximate_inverse", \
            "multilevel"}
        The function that makes the operator. A hierarchy is assumed to have Jacobi smoothers and tentative
        prolongators; it refers to A's own arrays, which are included. An approximate inverse is assumed to
        have 20 entries in each row.
    ordering, block_size, dtype, forests, polynomial, scaling
        As that function takes them; every scaling counts as a matching. Operators of several forests, and
        polynomials, refer to A's own arrays, which are included.
    symmetric : bool
        Whether ``|A|`` is known to be symmetric: its graph is then no copy, and the setup needs less.

    Returns
    -------
    MemoryEstimate
        Bytes of the operator, and the peak of its setup.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> A = lf.matrices.aniso(2, 100)
    >>> print(lf.memory_estimate(A, symmetric=True))
    memory
      operator  800,000 bytes
      setup     2,075,216 bytes
    """
    if kind not in ESTIMATES:
        raise ValueError(f"kind must be one of {', '.join(ESTIMATES)}, got {kind!r}")
    sizes = _sizes(A, dtype, symmetric)
    operator, setup = ESTIMATES[kind](sizes, block_size if kind.startswith("block") else 1, ordering)
    if kind == "tridiagonal" and (forests > 1 or polynomial > 1):
        operator, setup = _several_forests(sizes, operator, setup, forests)
    if scaling is not None:
        check_scaling(scaling)
        operator, setup = _scaled(sizes, operator, setup)
    return MemoryEstimate(operator, sizes.gate + max(setup, operator))


def _sizes(matrix: MatrixLike, dtype: npt.DTypeLike | None, symmetric: bool) -> _Sizes:
    A: Any = native_matrix("A", matrix)
    sparse = hasattr(A, "tocoo")
    if not sparse:
        A = backend_of(A).xp.asarray(A)
    if len(A.shape) != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"A must be square, got shape {tuple(A.shape)}")
    try:
        dtype_of_values, entries = A.dtype, int(A.nnz if sparse else A.size)
        indices = [getattr(A, name).dtype.itemsize for name in ("indptr", "indices") if hasattr(A, name)]
    except (AttributeError, TypeError, ValueError, IndexError) as error:
        raise TypeError(f"A must have the arrays of its format ({error})") from error
    value = value_dtype("A", dtype_of_values)
    wide = (1 if symmetric else 2) * entries > LARGEST_INT32_COUNT or max(indices, default=4) > 4
    return _Sizes(
        rows=A.shape[0],
        entries=entries,
        index=8 if wide else 4,
        value=value.itemsize,
        weight=value.type(0).real.itemsize,
        stored=stored_dtype(dtype, value).itemsize,
        symmetric=symmetric,
        copied=getattr(A, "format", "dense") != "csr",
    )


def _paths(sizes: _Sizes, _: int, ordering: Any) -> tuple[int, int]:
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


def _several_forests(sizes: _Sizes, operator: int, setup: int, forests: int) -> tuple[int, int]:
    """As many tridiagonal operators, whose scaled bands are copies; A; the graph that is left; vectors."""
    scaled = 7 * sizes.stored * sizes.rows
    matrix = (sizes.index + sizes.stored) * sizes.entries + (sizes.index + sizes.stored) * sizes.rows
    graph = sizes.weight * sizes.entries * (1 if sizes.symmetric else 2)
    held = forests * operator + matrix
    return held, held + setup + graph + forests * scaled + 16 * sizes.value * sizes.rows


def _scaled(sizes: _Sizes, operator: int, setup: int) -> tuple[int, int]:
    """Factors and a permutation; the scaled matrix; before that, weights, duals and lists of a matching."""
    held = (16 + 2 * sizes.index) * sizes.rows
    matrix = (sizes.index + sizes.value) * sizes.entries + (sizes.index + sizes.value) * sizes.rows
    # Augmenting paths have a heap with room for all entries.
    matching = (4 + 2 * sizes.weight + 16) * sizes.entries + (96 + 8 * sizes.index) * sizes.rows
    return operator + held, held + max(matching, matrix + max(setup, operator))


def _blocks(sizes: _Sizes, block_size: int, _: Any) -> tuple[int, int]:
    """At most as many blocks as vertices; every pairing makes a coarse graph, and "auto" two forests."""
    if block_size not in (1, 2, 4):
        raise ValueError(f"block_size must be 1, 2 or 4, got {block_size!r}")
    index, weight, rows = sizes.index, sizes.weight, sizes.rows
    forest = ((block_size + 6) * index + 2 * weight) * rows
    operator = forest + 4 * block_size**2 * sizes.stored * rows
    coarse = (index + weight) * sizes.entries * (block_size.bit_length() if block_size > 1 else 0)
    pairing = forest + coarse + (_forest(sizes) + 6 * index) * rows
    bands = 2 * forest + block_size**2 * (3 * sizes.value + _solving(sizes)) * rows
    return operator, max(sizes.graph_in_making, sizes.graph + pairing, sizes.graph + bands)


def _diagonal_blocks(sizes: _Sizes, block_size: int, _: Any) -> tuple[int, int]:
    rows = sizes.rows + block_size
    operator = block_size * sizes.stored * (sizes.rows if block_size == 1 else rows)
    return operator, block_size * (3 * sizes.value + 2 * sizes.stored + 16) * rows


def _triangles(sizes: _Sizes, _: int, __: Any) -> tuple[int, int]:
    """Two triangles without the diagonal, the pivots, and an order of levels; factored in A's precision."""
    wide = max(sizes.stored, sizes.value)
    rows = sizes.stored * sizes.rows + 5 * sizes.index * sizes.rows
    operator = (sizes.index + sizes.stored) * sizes.entries + rows
    # Beside the factors in the best order so far: the pattern of A + A^T and what an ordering needs; or
    # several matrices, with missing diagonal entries: the permuted one, its transpose, the triangles, and
    # those in the stored type.
    pattern = replace(sizes, value=4, weight=4).graph_in_making + 8 * sizes.entries + 60 * sizes.rows
    matrix = (sizes.index + wide) * (sizes.entries + sizes.rows)
    return operator, operator + max(pattern, 5 * matrix + 16 * sizes.rows)


def _inverse_rows(sizes: _Sizes, _: int, __: Any) -> tuple[int, int]:
    """The factors of FSAI, padded rows; of SPAI the products of A's rows, as many as rows have entries."""
    wide = max(sizes.value, 8)
    rows = ENTRIES * (sizes.index + wide) * sizes.rows
    operator = 2 * (ENTRIES * (sizes.index + sizes.stored) + sizes.index) * sizes.rows
    matrix = (3 if sizes.symmetric else 8) * (sizes.index + wide) * sizes.entries
    if not sizes.symmetric:
        matrix += (sizes.index + wide) * sizes.entries**2 // max(sizes.rows, 1)
    return operator, operator + 3 * rows + matrix + 32 * sizes.rows


def _levels(sizes: _Sizes, _: int, __: Any) -> tuple[int, int]:
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


def _forest(sizes: _Sizes) -> int:
    """Bytes per row: the arrays of the factor and the forest, and the levels of list ranking."""
    return 7 * sizes.index + 2 * sizes.weight + 64


def _solving(sizes: _Sizes) -> int:
    """Bytes per row: bands in the stored type, clipped bands, pivots twice and those of the groups."""
    return 6 * sizes.stored + 2 * sizes.stored + np.dtype(np.float64).itemsize


ESTIMATES = {
    "tridiagonal": _paths,
    "block_tridiagonal": _blocks,
    "jacobi": _diagonal_blocks,
    "block_jacobi": _diagonal_blocks,
    "ilu": _triangles,
    "approximate_inverse": _inverse_rows,
    "multilevel": _levels,
}
