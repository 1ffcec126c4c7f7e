"""Classes for lineax: a linear operator with the entries of a sparse matrix, and a solver for it.

They derive from classes of lineax, and are made when they are first used: the module imports without it.
"""

from __future__ import annotations

import functools
from typing import Any

from linforest_precond.backends.array_libraries import is_jax_sparse
from linforest_precond.interop.adjoint_solves import SolveOptions
from linforest_precond.interop.jax_solve import SparseSystem, jax_module
from linforest_precond.package_imports import optional_module
from linforest_precond.solvers.status import Status

_STRUCTURE_CHECKS = (
    "is_diagonal",
    "is_tridiagonal",
    "is_lower_triangular",
    "is_upper_triangular",
    "has_unit_diagonal",
)


def _lineax() -> Any:
    return optional_module("lineax", "linforest_precond.jax needs lineax: pip install linforest-precond[jax]")


@functools.cache
def operator_class() -> Any:
    lineax, jax = _lineax(), jax_module()
    import equinox

    class SparseLinearOperator(lineax.AbstractLinearOperator):  # type: ignore[name-defined]
        """A BCSR or BCOO matrix as a linear operator of lineax.

        Parameters
        ----------
        A : BCSR or BCOO matrix
            n x n, without batch and dense dimensions.
        tags : frozenset
            Tags of lineax: `symmetric_tag`, `positive_semidefinite_tag`, `negative_semidefinite_tag`.
        """

        system: SparseSystem
        transposed: bool = equinox.field(static=True)
        tags: frozenset[object] = equinox.field(static=True)

        def __init__(self, A: Any, tags: Any = (), *, transposed: bool = False) -> None:
            if not is_jax_sparse(A) and not isinstance(A, SparseSystem):
                raise TypeError(f"A must be a BCSR or BCOO matrix of JAX, got a {type(A).__name__}")
            self.system = A if isinstance(A, SparseSystem) else SparseSystem.of(A)
            self.transposed = transposed
            self.tags = frozenset(tags if isinstance(tags, tuple | list | set | frozenset) else (tags,))

        def mv(self, vector: Any) -> Any:
            return self.system.product(vector, self.transposed)

        def as_matrix(self) -> Any:
            return self.mv(jax.numpy.eye(self.system.n, dtype=self.system.data.dtype))

        def transpose(self) -> Any:
            return SparseLinearOperator(self.system, self.tags, transposed=not self.transposed)

        def in_structure(self) -> Any:
            return jax.ShapeDtypeStruct((self.system.n,), self.system.data.dtype)

        def out_structure(self) -> Any:
            return self.in_structure()

    _register(SparseLinearOperator)
    return SparseLinearOperator


def _register(kind: Any) -> None:
    """Register the functions of lineax for the operator; its tags decide the results."""
    lineax = _lineax()
    for name in _STRUCTURE_CHECKS:
        getattr(lineax, name).register(kind)(lambda operator: False)
    lineax.is_symmetric.register(kind)(lambda operator: lineax.symmetric_tag in operator.tags)
    for definite in ("positive_semidefinite", "negative_semidefinite"):
        tag = getattr(lineax, f"{definite}_tag")
        getattr(lineax, f"is_{definite}").register(kind)(lambda operator, tag=tag: tag in operator.tags)
    lineax.linearise.register(kind)(lambda operator: operator)
    lineax.materialise.register(kind)(lambda operator: operator)
    lineax.diagonal.register(kind)(_diagonal)
    lineax.conj.register(kind)(_conjugate)


def _diagonal(operator: Any) -> Any:
    row, col = operator.system.coordinates()
    on_diagonal = jax_module().numpy.where(row == col, operator.system.data, 0)
    zeros = jax_module().numpy.zeros(operator.system.n, on_diagonal.dtype)
    return zeros.at[row].add(on_diagonal, mode="drop")


def _conjugate(operator: Any) -> Any:
    system = operator.system._replace(data=operator.system.data.conj())
    return type(operator)(system, operator.tags, transposed=operator.transposed)


@functools.cache
def krylov_class() -> Any:
    lineax = _lineax()
    import equinox

    class Krylov(lineax.AbstractLinearSolver):  # type: ignore[name-defined]
        """A solver for `lineax.linear_solve` of operators that are a `SparseLinearOperator`.

        Parameters
        ----------
        M, method, rtol, atol, maxiter
            As for `linforest_precond.jax.solve`; transposed systems are solved with ``M.T``. Whether a
            failure is an exception is decided by lineax's ``throw``.
        """

        options: SolveOptions = equinox.field(static=True)

        def __init__(
            self,
            M: Any = None,
            *,
            method: str | None = None,
            rtol: float | None = None,
            atol: float = 0.0,
            maxiter: int | None = None,
        ) -> None:
            self.options = SolveOptions(M, method, rtol, atol, maxiter)

        def init(self, operator: Any, options: Any) -> Any:
            if not isinstance(operator, operator_class()):
                raise TypeError(
                    "operator must be a linforest_precond.jax.SparseLinearOperator, whose entries are known, "
                    f"got a {type(operator).__name__}"
                )
            return operator.system, operator.transposed, False

        def compute(self, state: Any, vector: Any, options: Any) -> Any:
            system, transposed, conjugated = state
            x, info = system.attempted(vector.conj() if conjugated else vector, self.options, transposed)
            return x.conj() if conjugated else x, _result(info), {"info": info}

        def transpose(self, state: Any, options: Any) -> Any:
            system, transposed, conjugated = state
            return (system, not transposed, conjugated), options

        def conj(self, state: Any, options: Any) -> Any:
            system, transposed, conjugated = state
            return (system, transposed, not conjugated), options

        def assume_full_rank(self) -> bool:
            return True

    return Krylov


def _result(info: Any) -> Any:
    """The outcome as one of lineax's `RESULTS`."""
    results = _lineax().RESULTS
    result = results.where(info == 0, results.successful, results.breakdown)
    result = results.where(info > 0, results.max_steps_reached, result)
    result = results.where(info == int(Status.STAGNATED), results.stagnation, result)
    return results.where(info == int(Status.SINGULAR), results.singular, result)
