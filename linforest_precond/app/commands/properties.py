"""Properties of a matrix: sizes, symmetry, diagonal, components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from linforest_precond.matrix.checked import checked

# Relative tolerance of diagonal dominance.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Properties:
    """The properties of a matrix that `linforest info` shows."""

    rows: int
    columns: int
    entries: int  # stored and not 0
    explicit_zeros: int
    dtype: str
    pattern_symmetric: bool
    symmetric: bool  # exactly, A = Aᵀ
    hermitian: bool  # A = Aᴴ, at least to rounding
    to_rounding: bool  # Hermitian, but not exactly
    positive_diagonal: bool  # and real, unless A is Hermitian to rounding
    zero_diagonal: int  # rows
    empty_rows: int  # without any entry
    dominant_rows: int  # up to rounding
    smallest: float  # magnitude of the nonzero entries; 0 where there are none
    largest: float
    fewest: int  # entries of a row
    most: int
    components: int | None  # of the graph; None where A is not square

    @property
    def square(self) -> bool:
        return self.rows == self.columns

    @property
    def fits_cg(self) -> bool:
        """Hermitian with a positive diagonal: necessary for positive definiteness."""
        return self.hermitian and self.positive_diagonal


def properties(A: Any) -> Properties:
    """The properties of a matrix, of any shape; errors name a matrix that the command cannot take."""
    A = csr_array(A, copy=True)
    A.sum_duplicates()
    stored = A.nnz
    A.eliminate_zeros()
    lengths = np.diff(A.indptr)
    magnitudes = abs(A.data)
    diagonal, symmetries = A.diagonal(), _symmetries(A)
    is_real = symmetries["to_rounding"] or (diagonal.imag == 0).all()
    return Properties(
        rows=A.shape[0],
        columns=A.shape[1],
        entries=A.nnz,
        explicit_zeros=stored - A.nnz,
        dtype=str(A.dtype),
        **symmetries,
        positive_diagonal=bool(diagonal.size and (diagonal.real > 0).all() and is_real),
        zero_diagonal=int((diagonal == 0).sum()),
        empty_rows=int((lengths == 0).sum()),
        dominant_rows=_dominant_rows(A, diagonal),
        smallest=float(magnitudes.min(initial=np.inf)) if A.nnz else 0.0,
        largest=float(magnitudes.max(initial=0.0)),
        fewest=int(lengths.min(initial=A.shape[1])) if lengths.size else 0,
        most=int(lengths.max(initial=0)),
        components=_components(A),
    )


def _symmetries(A: csr_array) -> dict[str, bool]:
    B = A.T.tocsr() if A.shape[0] == A.shape[1] else None
    if B is None or not np.array_equal(A.indptr, B.indptr):
        return dict.fromkeys(("pattern_symmetric", "symmetric", "hermitian", "to_rounding"), False)
    B.sort_indices()
    pattern = np.array_equal(A.indices, B.indices)
    exactly = pattern and np.array_equal(A.data, B.data.conj())
    to_rounding = pattern and not exactly and bool(np.isfinite(A.data).all()) and checked(A).to_rounding
    return {
        "pattern_symmetric": pattern,
        "symmetric": pattern and np.array_equal(A.data, B.data),
        "hermitian": exactly or to_rounding,
        "to_rounding": to_rounding,
    }


def _dominant_rows(A: csr_array, diagonal: np.ndarray) -> int:
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    off_diagonal = rows != A.indices
    weights = abs(A.data[off_diagonal])
    sums = np.bincount(rows[off_diagonal], weights=weights, minlength=A.shape[0])[: diagonal.size]
    return int((abs(diagonal) >= sums * (1 - ROUNDING)).sum())


def _components(A: csr_array) -> int | None:
    from scipy.sparse.csgraph import connected_components  # imported late because it is slow

    if A.shape[0] != A.shape[1]:
        return None
    return int(connected_components(abs(A), directed=False, return_labels=False)) if A.shape[0] else 0
