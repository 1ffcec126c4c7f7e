"""Names for types in signatures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

# numpy.ndarray or cupy.ndarray, whichever library the matrix came from: CuPy has NumPy's interface.
Array: TypeAlias = npt.NDArray[Any]
DType: TypeAlias = np.dtype[Any]


class SparseMatrix(Protocol):
    """A sparse matrix or sparse array of SciPy or CuPy, in any format."""

    @property
    def format(self) -> str: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> DType: ...

    def tocoo(self) -> Any:
        """In coordinate format."""

    def tocsr(self) -> Any:
        """In CSR."""

    def __matmul__(self, other: Any) -> Any: ...


# What public functions take as A: sparse or dense.
MatrixLike: TypeAlias = SparseMatrix | npt.ArrayLike

# Options that are names, as type checkers and editors know them; the functions check them, too.
Auto: TypeAlias = Literal["auto"]
ScalingName: TypeAlias = Literal["auto", "matching", "equilibrate", "jacobi"]
ScalingMethod: TypeAlias = Literal["matching", "equilibrate", "jacobi"]
OrderingName: TypeAlias = Literal["forest", "original", "rcm"]
Charge: TypeAlias = Literal["splitmix64", "md5"]
Ties: TypeAlias = Literal["auto", "index", "random"]
Repair: TypeAlias = Literal["auto", "none"]
Combination: TypeAlias = Literal["multiplicative", "additive"]
IluOrder: TypeAlias = Literal["auto", "natural", "forest", "colors", "rcm", "minimum_degree"]
DirectOrder: TypeAlias = Literal["auto", "colamd", "minimum_degree", "natural"]
Pivoting: TypeAlias = Literal["auto", "diagonal", "partial"]
InverseMethod: TypeAlias = Literal["auto", "fsai", "spai"]
CoarseningName: TypeAlias = Literal["auto", "smoothed_aggregation", "matching", "paths"]
SmootherName: TypeAlias = Literal[
    "auto", "jacobi", "l1_jacobi", "chebyshev", "chebyshev3", "tridiagonal", "block_tridiagonal",
    "approximate_inverse", "gauss_seidel",
]  # fmt: skip
CycleName: TypeAlias = Literal["auto", "V", "W", "F", "K"]
CouplingWeights: TypeAlias = Literal["coupling", "magnitude"]
Accelerator: TypeAlias = Literal["auto", "cg", "fcg", "bicgstab", "minres", "gmres", "fgmres", "idrs"]
# A permutation that a user gives: a name is not one.
Permutation: TypeAlias = Array | Sequence[int]
