"""`VectorSpace` is the interface of the Krylov methods to both backends' `KrylovSpace`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from linforest_precond.backends.annotations import Array, DType
from linforest_precond.backends.krylov_codes import ScalarStep, VectorUpdate
from linforest_precond.backends.returns import Report
from linforest_precond.records.forest import Ordering


class MatrixProduct(Protocol):
    """Products with A, the backend's `krylov.spmv.Product`, `capturable` in a CUDA graph or not."""

    capturable: bool

    def into(self, space: Any, source: str, target: str) -> None:
        """Write the product with vector `source` into vector `target`."""

    def residual(self, b: Array, x: Array, target: Array) -> None:
        """Write b - A x into `target`, in twice the working precision where A has entries."""

    def magnitudes(self, x: Array) -> Array | None:
        """|A| |x| in double precision; None where A is an operator."""


class Preconditioning(Protocol):
    """Products with M, the backend's `krylov.spmv.Preconditioning`; the identity where there is no M."""

    capturable: bool
    is_identity: bool

    def into(self, space: Any, source: str, target: str) -> None:
        """Write the product with vector `source` into vector `target`."""


class VectorSpace(Protocol):
    """The vectors and scalars of k systems of n rows that are iterated together.

    Vectors have the names of the textbooks: x, r and those of the method. Scalars belong to the backend.
    Inner products and updates are followed by a `ScalarStep`, which computes scalars from inner products and
    stops the systems that have converged or broken down; their vectors do not change any more.
    """

    def __getitem__(self, name: str) -> Array:
        """A vector, as an (n, k) array."""

    def alias(self, name: str, other: str) -> None:
        """Make `name` another name of the vector `other`."""

    def start(self, starting: npt.NDArray[np.bool_]) -> None:
        """(Re)start the systems that are True in `starting` from the present r."""

    def dot(self, step: ScalarStep, *pairs: tuple[str, str]) -> None:
        """Compute the inner products of pairs of vectors, then the scalar step."""

    def update(self, update: VectorUpdate) -> None:
        """Update vectors, and take the scalar step from the inner products that belong to the update."""

    def multiply(
        self,
        product: MatrixProduct,
        source: str,
        target: str,
        step: ScalarStep | None = None,
        *pairs: tuple[str, str],
    ) -> None:
        """Write A times a vector into another, then do as `dot` where a step is given."""

    def precondition(self, preconditioning: Preconditioning, source: str, target: str) -> None:
        """Write M times a vector into another; where M is the identity, the two names are aliases."""

    def records_errors(self) -> bool:
        """Whether x_true is known."""

    def record_error(self, half: bool, name: str = "x") -> None:
        """Add norm(x - x_true) to the last record; x includes the half step where `half`."""

    def batch(
        self, iterate: Callable[[], None], capturable: bool, cycle: int = 0, most: int | None = None
    ) -> int:
        """Make one iteration, or enqueue several, a divisor of `cycle` and at most `most`; how many."""

    def poll(self, wait: bool) -> Report | None:
        """The newest report that has arrived, None if none has; the report of all iterations if `wait`."""

    def close(self) -> None:
        """Give back the work space of operators, after the last batch."""


class InPlaceOperator:
    """An operator of this package, which solvers apply without allocating and may capture in CUDA graphs."""

    @property
    def capturable(self) -> bool:
        """Whether products can be captured: not where a library or the host computes them."""
        raise NotImplementedError

    @property
    def stored_dtype(self) -> DType:
        """The type of the stored numbers."""
        raise NotImplementedError

    @property
    def ordering(self) -> Ordering | None:
        """The order of the rows, where it is not A's own."""
        raise NotImplementedError

    @property
    def permuted(self) -> InPlaceOperator:
        """The operator on vectors in its own order of the rows."""
        raise NotImplementedError

    def times_power_of_two(self, exponent: int) -> InPlaceOperator:
        """The operator times 2**exponent."""
        raise NotImplementedError

    def apply_into(self, b: Array, x: Array, transpose: bool) -> None:
        """Write the product with the columns of b into x; both are (n, k) arrays and not checked."""
        raise NotImplementedError

    def frozen(self) -> InPlaceOperator:
        """The operator with its present values, which updates do not change."""
        raise NotImplementedError
