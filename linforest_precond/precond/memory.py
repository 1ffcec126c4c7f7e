"""`memory_estimate` predicts the bytes of a preconditioner and of its setup from the size of the matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from linforest_precond.backends.annotations import MatrixLike
from linforest_precond.backends.arguments import as_choice
from linforest_precond.backends.user_warnings import named_arguments, refuse_call
from linforest_precond.matrix.checked import checked
from linforest_precond.matrix.conversion import LARGEST_INT32_COUNT, is_csr
from linforest_precond.precond.kinds import Sizes, faces
from linforest_precond.precond.parts.number_types import stored_dtype
from linforest_precond.precond.scaling.matrix_scaling import MatrixScaling
from linforest_precond.precond.scaling.scaling import check_scaling
from linforest_precond.records.printing import Printed, Printout


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


@named_arguments
def memory_estimate(
    A: MatrixLike,
    kind: str = "tridiagonal",
    *,
    dtype: npt.DTypeLike | None = None,
    scaling: str | MatrixScaling | None = None,
    symmetric: bool = False,
    **options: Any,
) -> MemoryEstimate:
    """Estimate the memory of a preconditioner from the shape, type and number of entries of A.

    A is checked, and nothing is set up; for "direct", the fill-in is counted, on a GPU by cuDSS. Block
    tridiagonal preconditioners need less where most vertices are matched, and systems that need pivoting may
    need more.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy.
    kind : str
        The name of the function that makes the operator. A hierarchy is assumed to have Jacobi smoothers and
        tentative prolongators; it refers to A's own arrays, which are included. An approximate inverse is
        assumed to have 20 entries in each row.
    dtype, scaling
        As that function takes them; every scaling counts as a matching.
    symmetric : bool
        Whether ``|A|`` is known to be symmetric: its graph is then no copy, and the setup needs less.
    **options
        Further options of that function. Operators of several forests, polynomials, and several sweeps of
        Gauss-Seidel refer to A's own arrays, which are included.

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
    face = faces()[as_choice("kind", kind, faces())]
    refuse_call(face.function, (A,), options)
    sizes = _sizes(A, dtype, symmetric)
    operator, setup = face.memory(sizes, {**face.defaults, **options})
    if scaling is not None:
        check_scaling(scaling)
        operator, setup = _scaled(sizes, operator, setup)
    return MemoryEstimate(operator, sizes.checks + max(setup, operator))


def _sizes(matrix: MatrixLike, dtype: npt.DTypeLike | None, symmetric: bool) -> Sizes:
    A = checked(matrix)
    wide = (1 if symmetric else 2) * A.nnz > LARGEST_INT32_COUNT or A.indices.dtype.itemsize > 4
    return Sizes(
        rows=A.n,
        entries=A.nnz,
        index=8 if wide else 4,
        value=A.dtype.itemsize,
        weight=A.dtype.type(0).real.itemsize,
        stored=stored_dtype(dtype, A.dtype).itemsize,
        symmetric=symmetric,
        copied=A.given is not None and not is_csr(A.given),
        matrix=A,
    )


def _scaled(sizes: Sizes, operator: int, setup: int) -> tuple[int, int]:
    """Factors and a permutation; the scaled matrix; before that, weights, duals and lists of a matching."""
    held = (16 + 2 * sizes.index) * sizes.rows
    matrix = (sizes.index + sizes.value) * sizes.entries + (sizes.index + sizes.value) * sizes.rows
    # Augmenting paths have a heap with room for all entries.
    matching = (4 + 2 * sizes.weight + 16) * sizes.entries + (96 + 8 * sizes.index) * sizes.rows
    return operator + held, held + max(matching, matrix + max(setup, operator))
