"""A system that another package has assembled: the record, and its file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True)
class Assembled:
    """A x = b, and where there is one, a later matrix A2 with the pattern of A."""

    A: sp.csr_array
    b: np.ndarray
    A2: sp.csr_array | None = None
    note: str = ""

    def save(self, path) -> None:
        arrays = {"data": self.A.data, "indices": self.A.indices, "indptr": self.A.indptr, "b": self.b}
        if self.A2 is not None:
            arrays["data2"] = self.A2.data
        np.savez_compressed(path, **arrays, note=self.note)

    @classmethod
    def load(cls, path: Path) -> Assembled:
        with np.load(path) as file:
            arrays = dict(file)
        place = arrays["indices"], arrays["indptr"]
        matrices = [sp.csr_array((arrays[name], *place)) for name in ("data", "data2") if name in arrays]
        return cls(matrices[0], arrays["b"], *(matrices[1:] or [None]), str(arrays["note"]))


def assembled(A, b, A2=None, note="") -> Assembled:
    """The record, with 32-bit indices, sorted, without explicit zeros, A2 in the pattern of A.

    Entries that only one of the two has are stored as zeros in the other one.
    """
    A = canonical(A)
    if A2 is not None:
        A2 = canonical(A2)
        if not same_pattern(A, A2):
            pattern = canonical(abs(A) + abs(A2))
            A, A2 = on_pattern(A, pattern), on_pattern(A2, pattern)
    b = np.asarray(b, dtype=np.result_type(A.dtype, np.asarray(b).dtype))
    return Assembled(A, b, A2, note)


def canonical(A):
    A = sp.csr_array(A)
    A.sum_duplicates()
    A.eliminate_zeros()
    A.sort_indices()
    A.indices, A.indptr = A.indices.astype(np.int32), A.indptr.astype(np.int32)
    return A


def same_pattern(A, B) -> bool:
    return np.array_equal(A.indptr, B.indptr) and np.array_equal(A.indices, B.indices)


def on_pattern(A, pattern):
    """A with explicit zeros wherever the pattern has an entry."""
    rows = np.repeat(np.arange(A.shape[0]), np.diff(pattern.indptr))
    values = np.zeros(pattern.nnz, A.dtype)
    where = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr)) * A.shape[0] + A.indices
    values[np.searchsorted(rows * A.shape[0] + pattern.indices, where)] = A.data
    return sp.csr_array((values, pattern.indices, pattern.indptr), shape=A.shape)
