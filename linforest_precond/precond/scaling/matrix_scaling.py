"""`MatrixScaling` holds row and column factors and a row permutation: B = P D_r A D_c."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linforest_precond.backends import Backend, OnBackend
from linforest_precond.backends.annotations import Array, MatrixLike
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.backends.flags import all_set
from linforest_precond.graph.reordering.permute import checked_order
from linforest_precond.matrix.checked import CheckedMatrix, checked, described
from linforest_precond.matrix.checks import check_device
from linforest_precond.matrix.conversion import sparse_like
from linforest_precond.precond.storage import schema
from linforest_precond.records.printing import Printed, Printout
from linforest_precond.records.read_only import ReadOnlyArrays

METHODS = "matching", "equilibrate", "jacobi"


@dataclass(frozen=True, eq=False, repr=False)
class MatrixScaling(OnBackend, ReadOnlyArrays, Printed):
    """A scaling of a matrix: B = P D_r A D_c.

    Made by `linforest_precond.scaling`; preconditioners take it as `scaling=`.

    Attributes
    ----------
    method : {"matching", "equilibrate", "jacobi"}
        How it was found.
    row, column : (n,) float64 arrays
        The diagonals of D_r, in A's order of the rows, and of D_c.
    permutation : (n,) integer array or None
        ``permutation[i]`` is the row of A that becomes row i of B; None for A's own order.
    partners : (n,) integer array or None
        For a symmetric A and "matching": the other row of each 2 x 2 pivot of B, -1 for a 1 x 1 pivot. The
        entry between partners has magnitude 1. None elsewhere.
    smallest_diagonal : (float, float) or None
        The smallest diagonal magnitude relative to the largest one of its row, in A and in B.
    """

    method: str
    row: Array
    column: Array
    permutation: Array | None = None
    partners: Array | None = None
    smallest_diagonal: tuple[float, float] | None = None

    @property
    def n(self) -> int:
        return int(self.row.size)

    @property
    def is_symmetric(self) -> bool:
        """Whether B = D A D: B is then symmetric where A is."""
        # stall: one number, where it is asked for
        return self.permutation is None and all_set(self.row == self.column)

    def apply(self, A: MatrixLike) -> Any:
        """B = P D_r A D_c for a matrix of the size and on the device of the one that was scaled.

        Parameters
        ----------
        A : sparse matrix or dense array
            Square, of SciPy, NumPy or CuPy.

        Returns
        -------
        sparse matrix
            Of A's kind and format; a sparse array for a dense A.

        Examples
        --------
        >>> import numpy as np
        >>> import linforest_precond as lf
        >>> A = np.array([[0.0, 4.0], [0.5, 1.0]])
        >>> lf.scaling(A).apply(A).diagonal().round(6).tolist()
        [1.0, 1.0]
        """
        given = checked(A)
        csr = self.fitted_to(given).applied(given)
        return sparse_like(given.given, csr.data, csr.indices, csr.indptr, (csr.n, csr.n))

    def applied(self, csr: CheckedMatrix) -> CheckedMatrix:
        """B of a checked matrix."""
        order = self.permutation
        order = None if order is None else order.astype(csr.indices.dtype, copy=False)
        arrays = csr.indptr, csr.indices, csr.data
        scaled = csr.backend.matrix.copies.scaled_matrix(*arrays, order, self.row, self.column)
        return described(*scaled)

    def inverted(self) -> MatrixScaling:
        """The scaling that makes A of B, to rounding."""
        row, order = 1 / self.row, self.permutation
        if order is None:
            return MatrixScaling(self.method, row, 1 / self.column)
        back = xp_of(order).empty_like(order)
        back[order] = xp_of(order).arange(self.n, dtype=order.dtype)
        return MatrixScaling(self.method, row[order], 1 / self.column, back)

    def fitted_to(self, csr: CheckedMatrix) -> MatrixScaling:
        """The scaling with checked copies of its arrays: a matrix's size and device must fit."""
        backend, index = csr.backend, csr.indices.dtype
        row, column = (
            checked_factors(getattr(self, name), f"scaling.{name}", csr.n, backend)
            for name in ("row", "column")
        )
        order, partners = self.permutation, self.partners
        if order is not None:
            order = checked_order(order, csr.n, backend, "scaling.permutation", index).order
        if partners is not None:
            partners = checked_partners(partners, csr.n, backend).astype(index, copy=False)
        return replace(self, row=row, column=column, permutation=order, partners=partners)

    def summary(self) -> str:
        """One line for print."""
        if self.permutation is not None:
            xp = xp_of(self.permutation)
            moved = int((self.permutation != xp.arange(self.n)).sum())  # stall: for print
            return f"{self.method}, {moved:,} of {self.n:,} rows moved"
        if self.partners is not None:
            paired = int((self.partners >= 0).sum())  # stall: for print
            return f"{self.method}, symmetric, {paired:,} of {self.n:,} rows in 2 x 2 pivots"
        return f"{self.method}, rows in A's own order"

    def _printout(self) -> Printout:
        rows = [("rows", f"{self.n:,}"), ("found by", self.summary())]
        for name, factors in (("row factors", self.row), ("column factors", self.column)):
            if self.n:
                least, largest = float(factors.min()), float(factors.max())  # stall: for print
                rows.append((name, f"{least:.3g} to {largest:.3g}"))
        if self.smallest_diagonal is not None:
            before, after = self.smallest_diagonal
            rows.append(("smallest diagonal", f"{before:.3g} of its row's largest entry, {after:.3g} in B"))
        return Printout.of("scaling B = P D_r A D_c", *rows)


def scaling_is_possible(fields: schema.Fields, names: schema.Names) -> schema.Checks:
    for name in ("row", "column"):
        yield name, "be positive", (fields[name] > 0).all()
    order, partners = fields["permutation"], fields["partners"]
    if order is not None:
        yield "permutation", "hold each row once", np.unique(order).size == order.size
    if partners is not None:
        paired = np.flatnonzero(partners >= 0)
        mutual = np.array_equal(partners[partners[paired]], paired) and (partners[paired] != paired).all()
        yield "partners", "be mutual", mutual


SCALING = schema.RecordSpec(
    MatrixScaling,
    {
        "method": schema.one_of(*METHODS),
        "row": schema.real_numbers("n"),
        "column": schema.real_numbers("n"),
        "permutation": schema.optional(schema.indices("n", below="n")),
        "partners": schema.optional(schema.indices("n", least=-1, below="n")),
        "smallest_diagonal": schema.optional(schema.items(float, float)),
    },
    scaling_is_possible,
)


def checked_factors(given: Any, name: str, n: int, backend: Backend) -> Array:
    """A copy of the factors of rows or columns."""
    factors = _array(given, name, n, backend).astype(np.float64)
    # stall: the factors of a user are checked
    if not all_set((factors > 0) & backend.xp.isfinite(factors)):
        raise ValueError(f"{name} must hold positive, finite factors, got others")
    return factors


def checked_partners(given: Any, n: int, backend: Backend) -> Array:
    """A copy of the partners of rows."""
    partners = _array(given, "scaling.partners", n, backend).copy()
    own = backend.xp.arange(n)
    inside = backend.xp.clip(partners, 0, max(n - 1, 0))
    mutual = (partners < 0) | ((inside == partners) & (partners[inside] == own) & (partners != own))
    if partners.dtype.kind != "i" or not all_set(mutual):  # stall: the partners of a user are checked
        raise ValueError("scaling.partners must be mutual, with -1 for rows that have none, got others")
    return partners


def _array(given: Any, name: str, n: int, backend: Backend) -> Array:
    if not isinstance(given, backend.xp.ndarray):
        check_device(name, given, backend)
        raise TypeError(f"{name} must be an array, got {type(given).__name__}")
    if given.shape != (n,):
        raise ValueError(f"{name} must have one number for each of A's {n} rows, got shape {given.shape}")
    return given
