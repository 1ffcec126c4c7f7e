"""Differentiable solves with sparse matrices of JAX (extra ``jax``), and a solver for lineax.

The module imports without JAX and lineax, which are needed to use its names.
"""

from typing import Any

from linforest_precond.interop.jax_solve import solve

__all__ = ["Krylov", "SparseLinearOperator", "solve"]  # noqa: F822


def __getattr__(name: str) -> Any:
    if name not in ("Krylov", "SparseLinearOperator"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from linforest_precond.interop.lineax_classes import krylov_class, operator_class

    return krylov_class() if name == "Krylov" else operator_class()


def __dir__() -> list[str]:
    return __all__
