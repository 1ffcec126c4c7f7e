"""Names for types in signatures."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

# numpy.ndarray or cupy.ndarray, whichever library the matrix came from: CuPy has NumPy's interface.
Array: TypeAlias = npt.NDArray[Any]
DType: TypeAlias = np.dtype[Any]


class SparseMatrix(Protocol):
    """A sparse matrix or sparse array of SciPy or CuPy, in any format."""

    format: str
    shape: tuple[int, ...]
    dtype: DType

    def tocoo(self) -> Any:
        """In coordinate format."""

    def tocsr(self) -> Any:
        """In CSR."""

    def __matmul__(self, other: Any) -> Any: ...


# What public functions take as A: sparse or dense.
MatrixLike: TypeAlias = SparseMatrix | npt.ArrayLike
