"""`jacobi` and `block_jacobi` invert the diagonal entries or the diagonal blocks of A."""

from __future__ import annotations

from dataclasses import dataclass

import numpy.typing as npt

from linforest_precond.backends import Backend, OnBackend
from linforest_precond.backends.annotations import Array, DType, MatrixLike, ScalingName
from linforest_precond.backends.arguments import as_integer
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.backends.user_warnings import warn_user, without_numpy_warnings
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.precond.kinds import Candidacy, Cost, Face, Kind, Sizes, register
from linforest_precond.precond.parts.number_types import held_bytes, stored_array
from linforest_precond.precond.parts.part import Repairs, coverage_in_words, happened, in_words
from linforest_precond.precond.preconditioner import Preconditioner
from linforest_precond.precond.scaling.matrix_scaling import MatrixScaling
from linforest_precond.precond.setup import Setup
from linforest_precond.precond.storage import schema
from linforest_precond.records.printing import agreeing

LARGEST_BLOCK = 32


@without_numpy_warnings
def jacobi(
    A: MatrixLike, *, dtype: npt.DTypeLike | None = None, scaling: ScalingName | MatrixScaling | None = None
) -> Preconditioner:
    """Divide by the diagonal of A: the Jacobi preconditioner.

    A diagonal entry that is 0 counts as 1, with a RuntimeWarning.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy.
    dtype : dtype, optional
        The precision to store, A's own by default.
    scaling : None, "auto", "matching", "equilibrate", "jacobi" or MatrixScaling
        As for `tridiagonal`: set up for a scaled and permuted matrix, and still act on A itself.

    Returns
    -------
    Preconditioner
        A LinearOperator of A's library.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> M = lf.jacobi(np.array([[2.0, 1.0], [1.0, 4.0]]))
    >>> M @ np.array([1.0, 1.0])
    array([0.5 , 0.25])
    """
    setup = Setup(A, dtype, shared=scaling is None, scaling=scaling, keep_symmetric=False)
    return setup.operator(JacobiPart.of(setup.csr, setup.stored, 1, "jacobi"))


@without_numpy_warnings
def block_jacobi(
    A: MatrixLike,
    block_size: int = 2,
    *,
    dtype: npt.DTypeLike | None = None,
    scaling: ScalingName | MatrixScaling | None = None,
) -> Preconditioner:
    """Solve with the diagonal blocks of A, in A's own order: the block Jacobi preconditioner.

    Blocks are inverted with pivoting. A tiny pivot is perturbed to +-sqrt(eps) times its block's norm, with a
    RuntimeWarning.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy.
    block_size : int
        Rows of a block, 1 to 32; the last block may have fewer.
    dtype : dtype, optional
        The precision to store, A's own by default.
    scaling : None, "auto", "matching", "equilibrate", "jacobi" or MatrixScaling
        As for `tridiagonal`: set up for a scaled and permuted matrix, and still act on A itself.

    Returns
    -------
    Preconditioner
        A LinearOperator of A's library.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> A = lf.matrices.poisson(6)
    >>> M = lf.block_jacobi(A, block_size=3)
    >>> (M @ [1.0, 0, 0, 0, 0, 0]).round(2).tolist()
    [0.75, 0.5, 0.25, 0.0, 0.0, 0.0]
    """
    block_size = as_integer("block_size", block_size, 1, LARGEST_BLOCK)
    setup = Setup(A, dtype, shared=scaling is None, scaling=scaling, keep_symmetric=False)
    return setup.operator(JacobiPart.of(setup.csr, setup.stored, block_size, "block_jacobi"))


def blocks_cover_rows(fields: schema.Fields, names: schema.Names) -> schema.Checks:
    (blocks, size, _), n = fields["inverse"].shape, names["n"]
    covering = 1 <= size <= LARGEST_BLOCK and blocks == -(-n // size)
    yield "inverse", f"hold blocks of 1 to {LARGEST_BLOCK} rows, as many as cover the {n} rows", covering


SCHEMAS = {
    kind: schema.FieldsSpec(
        {
            "kind": schema.one_of(kind),
            "n": schema.size("n"),
            "inverse": inverse,
            "lifted": int,
            "positive_definite": bool,
            "coverage": schema.real(0.0, 1.0),
            "identity_coverage": schema.real(0.0, 1.0),
        },
        blocks_cover_rows,
    )
    for kind, inverse in {
        "jacobi": schema.numbers("n", 1, 1),
        "block_jacobi": schema.numbers("blocks", "block_size", "block_size"),
    }.items()
}


@dataclass(frozen=True, eq=False)
class JacobiPart(OnBackend, schema.Stored):
    """The inverses of A's diagonal blocks."""

    kind: str
    n: int
    inverse: Array  # (blocks, b, b)
    lifted: int  # pivots that were perturbed
    positive_definite: bool
    coverage: float
    identity_coverage: float

    forest = ordering = bands = None
    schema = SCHEMAS

    @classmethod
    def of(cls, csr: CheckedMatrix, stored: DType, block_size: int, kind: str) -> JacobiPart:
        """Invert the blocks of a matrix in the stored type."""
        backend = csr.backend
        if block_size == 1:
            blocks = csr.diagonal.reshape(-1, 1, 1)
        else:
            blocks = _padded_in_scale(backend.matrix.diagonal_blocks.gather(csr, block_size), csr.n)
        coverage, identity_coverage = _coverages(csr, blocks, backend)
        inverse, report = backend.matrix.diagonal_blocks.invert(stored_array(blocks, stored))
        lifted, not_definite = (int(count) for count in report.tolist())  # stall: reported to the user
        if lifted:
            found = agreeing(
                lifted,
                "pivot of the diagonal blocks was tiny and has been",
                "pivots of the diagonal blocks were tiny and have been",
            )
            warn_user(f"{found} perturbed: the diagonal of A has zeros, or its blocks are singular")
        return cls(kind, csr.n, inverse, lifted, not_definite == 0, coverage, identity_coverage)

    def refreshed(self, csr: CheckedMatrix) -> JacobiPart:
        return self.of(csr, self.stored, self.block_size, self.kind)

    @property
    def stored(self) -> DType:
        return self.inverse.dtype

    @property
    def block_size(self) -> int:
        return int(self.inverse.shape[1])

    def solve_into(self, b: Array, x: Array, transpose: bool) -> None:
        self.backend.matrix.diagonal_blocks.apply(self.inverse, b, x, transpose)

    @property
    def nbytes(self) -> int:
        return held_bytes(self)

    @property
    def name(self) -> str:
        if self.kind == "jacobi":
            return "Jacobi: the diagonal"
        return f"block Jacobi: {self.block_size} x {self.block_size} blocks on the diagonal"

    @property
    def repairs(self) -> Repairs:
        return happened(pivots_perturbed=self.lifted)

    def details(self) -> list[tuple[str, str]]:
        return [
            ("coverage", coverage_in_words(self)),
            ("repairs", in_words(self.repairs, self.positive_definite)),
        ]


def _padded_in_scale(blocks: Array, n: int) -> Array:
    """Blocks whose last one is padded with its own largest entry: pivots are tiny relative to that."""
    filled = n % blocks.shape[1]
    if filled:
        last, xp = blocks[-1], xp_of(blocks)
        largest = abs(last[:filled, :filled]).max()
        padded = xp.arange(filled, blocks.shape[1])
        last[padded, padded] = xp.where(largest > 0, largest, 1)
    return blocks


def _coverages(csr: CheckedMatrix, blocks: Array, backend: Backend) -> tuple[float, float]:
    """Shares of A's off-diagonal weight: inside the blocks, and on the sub- and superdiagonal."""
    if csr.total_weight == 0.0:
        return 1.0, 1.0
    weight, size = 0.0, blocks.shape[1]
    if size > 1:
        off_diagonal = (blocks * (1 - backend.xp.eye(size, dtype=blocks.dtype))).ravel()
        weight = backend.matrix.sums.tree_sum(backend.matrix.entries.magnitudes(off_diagonal), csr.scale)
    return min(1.0, weight / csr.total_weight), min(1.0, csr.adjacent_weight / csr.total_weight)


def _memory(sizes: Sizes, block_size: int) -> tuple[int, int]:
    rows = sizes.rows + block_size
    operator = block_size * sizes.stored * (sizes.rows if block_size == 1 else rows)
    return operator, block_size * (3 * sizes.value + 2 * sizes.stored + 16) * rows


FACE = Face(
    jacobi,
    "the diagonal",
    lambda sizes, _: _memory(sizes, 1),
    setup_products=1,
    candidates=(
        Candidacy("cpu", setup=Cost(560, 3), application=Cost(0, 0.3)),
        Candidacy("cuda", setup=Cost(240, 1), application=Cost(0.4, 0.3)),
    ),
)
BLOCK_FACE = Face(
    block_jacobi,
    "2 x 2 blocks on the diagonal",
    lambda sizes, options: _memory(sizes, options["block_size"]),
    setup_products=2,
)
register(Kind("jacobi", SCHEMAS["jacobi"], face=FACE))
register(Kind("block_jacobi", SCHEMAS["block_jacobi"], face=BLOCK_FACE))
