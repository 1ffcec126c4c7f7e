"""`update` recognizes a matrix of the same sparsity pattern by a digest of its index arrays."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from linforest_precond.backends import OnBackend, backend_of
from linforest_precond.backends.annotations import Array, DType
from linforest_precond.backends.array_libraries import on_host
from linforest_precond.matrix.conversion import stored_entries

# Formats whose index arrays are digested as they are; others are digested in coordinate format.
INDEX_ARRAYS = {"csr": ("indptr", "indices"), "csc": ("indptr", "indices"), "coo": ("row", "col")}


@dataclass(frozen=True, eq=False)
class PatternDigest(OnBackend):
    """The pattern of a matrix as it was given: explicit zeros, unsorted entries and duplicates included."""

    form: str  # format
    dtype: str
    shape: tuple[int, int]
    entries: int  # stored; the nonzeros of a dense array
    digest: Array  # 128-bit hash of the index arrays, two words on the matrix's device

    def require_same(self, other: PatternDigest, given: str = "A") -> None:
        """Raise a ValueError that names the difference of the `given` matrix, if there is one."""
        for field, name in (("form", "format"), ("dtype", "dtype"), ("shape", "shape")):
            wanted, seen = getattr(self, field), getattr(other, field)
            if wanted != seen:
                raise ValueError(
                    f"{given} must have the {name} of the matrix that the operator was made from ({wanted}), "
                    f"got {seen}; make a new operator for another matrix"
                )
        if self.entries != other.entries or self.words != other.words:
            raise ValueError(
                f"{given} must have the pattern of the matrix that the operator was made from: the same "
                f"index arrays ({self.entries} entries), got others ({other.entries} entries); "
                "make a new operator"
            )

    @cached_property
    def words(self) -> list[int]:
        """The digest on the host."""
        return [int(word) for word in on_host(self.digest)]  # stall: compared


def pattern_digest(A: Any) -> PatternDigest:
    """The pattern of a sparse or dense matrix of SciPy, NumPy or CuPy."""
    backend = backend_of(A)
    if not hasattr(A, "tocoo"):
        A = backend.xp.asarray(A)
        form, arrays = "dense", backend.xp.nonzero(A)
    else:
        form = A.format
        names = INDEX_ARRAYS.get(form, ())
        arrays = [getattr(A, name) for name in names] or stored_entries(A, backend.xp)[:2]
    arrays = [array if array.dtype in (np.int32, np.int64) else array.astype(np.int64) for array in arrays]
    digest = backend.matrix.patterns.digest(arrays)
    return PatternDigest(form, _name(A.dtype), tuple(A.shape), int(arrays[1].size), digest)


@functools.cache
def _name(dtype: DType) -> str:
    return str(dtype)
