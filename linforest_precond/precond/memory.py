"""The memory that a preconditioner will need, told beforehand from the size of the matrix alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linforest_precond.backends import backend_of
from linforest_precond.gate import value_dtype
from linforest_precond.own_matrix import LARGEST_INT32_COUNT
from linforest_precond.precond.stored import stored_dtype
from linforest_precond.printing import as_table
from linforest_precond.records import Forest

# Of hierarchies: entries of all levels in terms of the finest one's, and what is inverted, as by default.
COMPLEXITY = 1.7
MAX_COARSE = 1000


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes on A's device, those of A itself not counted.

    Attributes
    ----------
    operator
        What the finished operator holds.
    setup
        The most that is in use at once while it is made, the operator included.
    """

    operator: int
    setup: int

    def __str__(self) -> str:
        return as_table(
            "memory", ("operator", f"{self.operator:,} bytes"), ("setup", f"{self.setup:,} bytes")
        )

    __repr__ = __str__


@dataclass(frozen=True)
class _Sizes:
    """What the formulas count with: rows, entries, and the bytes of an index and of values."""

    rows: int
    entries: int
    index: int
    value: int
    weight: int
    stored: int
    symmetric: bool
    copied: bool  # A does not come as CSR

    @property
    def graph(self) -> int:
        """Of the graph, beside the matrix, which holds the graph of a symmetric real one."""
        if self.symmetric:
            return 0 if self.weight == self.value else self.weight * self.entries
        return 2 * (self.index + self.weight) * self.entries + self.index * self.rows

    @property
    def graph_in_making(self) -> int:
        """Rows, sums, and the entries that lack a mirror image, sorted."""
        return self.graph + (0 if self.symmetric else (3 * self.index + 2 * self.weight + 24) * self.entries)

    @property
    def gate(self) -> int:
        """The diagonal, what the scan notes, and the matrix as CSR where it is none."""
        copies = (2 * self.index + 2 * self.value + 40) * self.entries if self.copied else 0
        return (
            (self.value + 16) * self.rows + self.weight * self.entries * (self.weight < self.value) + copies
        )


def memory_estimate(
    A: Any,
    kind: str = "tridiagonal",
    *,
    ordering: Any = "forest",
    block_size: int = 2,
    dtype: Any = None,
    symmetric: bool = False,
) -> MemoryEstimate:
    """Estimate the memory of a preconditioner from the shape, type and number of entries of A.

    Nothing is set up, and A's entries are not looked at: where vertices find partners, blocks need less than
    this. Systems that need pivoting may hold more.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy.
    kind : {"tridiagonal", "block_tridiagonal", "jacobi", "block_jacobi", "multilevel"}
        The function to make the operator with. A hierarchy has Jacobi smoothers and plain prolongators; it
        refers to A's own arrays, which are counted in.
    ordering, block_size, dtype
        As that function takes them.
    symmetric : bool
        Whether ``|A|`` is known to be symmetric: its graph is then no copy, and the setup needs less.

    Returns
    -------
    MemoryEstimate
        Bytes that the operator holds, and that its setup needs at its peak.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> A = lf.matrices.aniso(2, 100)
    >>> lf.memory_estimate(A, symmetric=True)
    memory
      operator  800,000 bytes
      setup     1,680,000 bytes
    """
    if kind not in ESTIMATES:
        raise ValueError(f"kind must be one of {', '.join(ESTIMATES)}, got {kind!r}")
    sizes = _sizes(A, dtype, symmetric)
    operator, setup = ESTIMATES[kind](sizes, block_size if kind.startswith("block") else 1, ordering)
    return MemoryEstimate(operator, sizes.gate + max(setup, operator))


def _sizes(A: Any, dtype: Any, symmetric: bool) -> _Sizes:
    sparse = hasattr(A, "tocoo")
    if not sparse:
        A = backend_of(A).xp.asarray(A)
    if len(A.shape) != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"A must be square, got shape {tuple(A.shape)}")
    value = value_dtype("A", A.dtype)
    entries = int(A.nnz) if sparse else int(A.size)
    indices = [getattr(A, name).dtype.itemsize for name in ("indptr", "indices") if hasattr(A, name)]
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
    """A forest holds eight indices and two weights a row, a solver three bands and the pivots."""
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
        # The pattern with a single-precision 1 in every place; rows sorted by degree; notes of each vertex.
        pattern = replace(sizes, value=4, weight=4)
        traversal = pattern.graph + 24 * sizes.entries + 80 * sizes.rows
        return operator, max(pattern.graph_in_making, traversal, bands)
    if by_name != "forest":
        return operator, bands
    return operator, max(
        sizes.graph_in_making, sizes.graph + _forest(sizes) * sizes.rows, sizes.graph + bands
    )


def _blocks(sizes: _Sizes, block_size: int, _: Any) -> tuple[int, int]:
    """At most as many blocks as vertices; every pairing makes another graph, and "auto" two forests."""
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


def _levels(sizes: _Sizes, _: int, __: Any) -> tuple[int, int]:
    """Matrices with so many entries in all, of which the last is inverted; aggregates and their members."""

    def held(value: int) -> int:
        matrices = (sizes.index + value) * sizes.entries + (sizes.index + value) * sizes.rows
        vectors = (3 * sizes.index + value) * sizes.rows
        return int(COMPLEXITY * (matrices + vectors)) + value * min(sizes.rows, MAX_COARSE) ** 2

    weights = np.dtype(np.float64).itemsize
    graph = replace(sizes, value=weights, weight=weights)
    pairing = (weights + 2 * (sizes.index + sizes.value)) * sizes.entries + 8 * sizes.value * sizes.rows
    return held(sizes.stored), held(max(sizes.stored, sizes.value)) + graph.graph_in_making + pairing


def _forest(sizes: _Sizes) -> int:
    """Bytes a row: the factor's arrays, the forest's, and the levels of its list ranking."""
    return 7 * sizes.index + 2 * sizes.weight + 64


def _solving(sizes: _Sizes) -> int:
    """Bytes a row: bands in the stored type, clipped ones, pivots twice and those of the groups."""
    return 6 * sizes.stored + 2 * sizes.stored + np.dtype(np.float64).itemsize


ESTIMATES = {
    "tridiagonal": _paths,
    "block_tridiagonal": _blocks,
    "jacobi": _diagonal_blocks,
    "block_jacobi": _diagonal_blocks,
    "multilevel": _levels,
}
