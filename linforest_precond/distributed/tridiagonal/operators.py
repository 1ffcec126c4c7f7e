"""Tridiagonal, block tridiagonal and Jacobi preconditioners of matrices over ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

import numpy.typing as npt

from linforest_precond.backends.annotations import DType, IluOrder, ScalingName
from linforest_precond.backends.arguments import as_choice
from linforest_precond.backends.user_warnings import without_numpy_warnings
from linforest_precond.distributed.forest.block_forest import best_block_forest
from linforest_precond.distributed.forest.factor import propose_factor
from linforest_precond.distributed.forest.graph import graph_of
from linforest_precond.distributed.forest.linear_forest import forest_of
from linforest_precond.distributed.partition.matrix import Matrix, agreed_options
from linforest_precond.distributed.partition.preconditioner import RankPreconditioner, set_up
from linforest_precond.distributed.partition.scaling import as_scaling, with_scaling
from linforest_precond.distributed.tridiagonal.preconditioner_parts import (
    LocalPart,
    RankJacobiPart,
    RankTridiagonalPart,
)
from linforest_precond.graph.forest.factor import BlockKeywords, FactorKeywords, check_options
from linforest_precond.graph.forest.pairs import check_block_options
from linforest_precond.precond.ilu import incomplete_lu
from linforest_precond.precond.ilu.incomplete_lu import checked_options
from linforest_precond.precond.parts.number_types import stored_dtype
from linforest_precond.precond.preconditioner import Preconditioner
from linforest_precond.precond.tridiagonal import tridiagonal as one_rank
from linforest_precond.precond.tridiagonal.tridiagonal_part import REPAIRS

SCOPES = "global", "local"


@without_numpy_warnings
def tridiagonal(
    A: Matrix,
    *,
    scope: str = "global",
    dtype: npt.DTypeLike | None = None,
    repair: str = "auto",
    scaling: ScalingName | None = None,
    **options: Unpack[FactorKeywords],
) -> RankPreconditioner:
    """Solve with the tridiagonal part of a matrix over ranks, along heavy paths.

    Collective. With one forest for all ranks, the operator is that of `linforest_precond.tridiagonal` on one
    rank, up to rounding, and so are the iterations of a solver. A product exchanges the vector twice, to the
    forest's order and back, and makes one small allgather for the paths that cross from rank to rank.

    Parameters
    ----------
    A : Matrix
        The matrix over ranks.
    scope : {"global", "local"}
        One forest for all ranks, or one of each rank's own diagonal block: no exchange, but more iterations
        with every rank.
    scaling : None, "auto", "matching", "equilibrate" or "jacobi"
        Set up for the scaled and permuted matrix of one process, and still act on A itself; with either
        scope, the scaling is that of the whole matrix. Its entries, at most 50 million, are gathered on rank
        0 in the setup; a product exchanges the vector once more where rows are permuted.
    dtype, repair, **options
        As for `linforest_precond.tridiagonal`, the same on all ranks; options of its forest are `seed`,
        `iterations`, `m`, `k_m`, `p`, `charge` and `ties`.

    Returns
    -------
    RankPreconditioner
        A LinearOperator on each rank's part of vectors.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> from linforest_precond import distributed
    >>> A, r = lf.matrices.aniso(2, 30), np.arange(900.0)
    >>> def product(comm):
    ...     own = distributed.scatter(A, comm)
    ...     return distributed.tridiagonal(own) @ r[own.first : own.first + own.n_local]
    >>> whole = np.concatenate(distributed.simulate(3, product))
    >>> bool(np.allclose(whole, lf.tridiagonal(A) @ r, rtol=1e-12))
    True
    """
    agreed, stored = _agreed(A, scope, dtype, repair, lambda: check_options(2, **options), scaling)
    if scope == "local":
        own: dict[str, Any] = {**options, "dtype": stored, "repair": repair}
        return _of_own_blocks(A, one_rank.tridiagonal, own, scaling)

    backend = A.backend

    def make(A: Matrix) -> tuple[RankTridiagonalPart, int]:
        graph = graph_of(A, backend)
        forest = forest_of(graph, propose_factor(graph, agreed))
        return RankTridiagonalPart.of(A, "tridiagonal", forest, stored, repair)

    return set_up(A, with_scaling(make, scaling, stored))


@without_numpy_warnings
def block_tridiagonal(
    A: Matrix,
    block_size: int = 2,
    *,
    scope: str = "global",
    m: int | tuple[int, ...] | str = "auto",
    dtype: npt.DTypeLike | None = None,
    repair: str = "auto",
    **options: Unpack[BlockKeywords],
) -> RankPreconditioner:
    """Solve with the block tridiagonal part of a matrix over ranks.

    Collective. As `tridiagonal`, for `linforest_precond.block_tridiagonal`.

    Parameters
    ----------
    A : Matrix
        The matrix over ranks.
    block_size : int
        2, or 4: pairs of pairs.
    scope : {"global", "local"}
        One forest for all ranks, or one of each rank's own diagonal block.
    m, dtype, repair, **options
        As for `linforest_precond.block_tridiagonal`, the same on all ranks.

    Returns
    -------
    RankPreconditioner
        A LinearOperator on each rank's part of vectors.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> from linforest_precond import distributed
    >>> A = lf.matrices.aniso(1, 30)
    >>> def blocks(comm):
    ...     return distributed.block_tridiagonal(distributed.scatter(A, comm)).bands.diagonal.shape
    >>> distributed.simulate(2, blocks)
    [(225, 2, 2), (225, 2, 2)]
    """
    candidates, stored = _agreed(
        A, scope, dtype, repair, lambda: check_block_options(block_size, m, **options)
    )
    if scope == "local":
        own: dict[str, Any] = {**options, "block_size": block_size, "m": m, "dtype": stored, "repair": repair}
        return _of_own_blocks(A, one_rank.block_tridiagonal, own)

    def make(A: Matrix) -> tuple[RankTridiagonalPart, int]:
        forest = best_block_forest(graph_of(A), candidates)
        return RankTridiagonalPart.of(A, "block_tridiagonal", forest, stored, repair)

    return set_up(A, make)


@without_numpy_warnings
def jacobi(A: Matrix, *, dtype: npt.DTypeLike | None = None) -> RankPreconditioner:
    """Divide by the diagonal of a matrix over ranks: the Jacobi preconditioner.

    Collective; products exchange nothing. A diagonal entry that is 0 counts as 1, with a RuntimeWarning.

    Parameters
    ----------
    A : Matrix
        The matrix over ranks.
    dtype : dtype, optional
        The precision to store, A's own by default.

    Returns
    -------
    RankPreconditioner
        A LinearOperator on each rank's part of vectors.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> from linforest_precond import distributed
    >>> A = lf.matrices.poisson(4)
    >>> def product(comm):
    ...     return distributed.jacobi(distributed.scatter(A, comm)) @ np.ones(2)
    >>> [part.tolist() for part in distributed.simulate(2, product)]
    [[0.5, 0.5], [0.5, 0.5]]
    """
    _, stored = _agreed(A, "global", dtype, "auto", lambda: None)
    return set_up(A, lambda A: RankJacobiPart.of_ranks(A, stored))


@without_numpy_warnings
def ilu(
    A: Matrix,
    *,
    ordering: IluOrder = "auto",
    sweeps: int | None = None,
    dtype: npt.DTypeLike | None = None,
    scaling: ScalingName | None = None,
    seed: int = 0,
) -> RankPreconditioner:
    """Incomplete factors of each rank's own diagonal block: block Jacobi with `linforest_precond.ilu`.

    Collective; products exchange nothing. Incomplete factors are a recurrence through all rows, and this one
    ends at the cuts between ranks: couplings of unknowns of different ranks are left out, so that iterations
    grow with the number of ranks. `approximate_inverse` has no recurrence, and is that of one rank.

    Parameters
    ----------
    A : Matrix
        The matrix over ranks.
    ordering, sweeps, dtype, seed
        As for `linforest_precond.ilu`, the same on all ranks.
    scaling : None, "auto", "matching", "equilibrate" or "jacobi"
        As for `tridiagonal`: of the whole matrix, whose blocks are then factored.

    Returns
    -------
    RankPreconditioner
        A LinearOperator on each rank's part of vectors.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> from linforest_precond import distributed
    >>> A = lf.matrices.poisson((30, 30))
    >>> def iterations(comm):
    ...     own, history = distributed.scatter(A, comm), lf.solvers.History()
    ...     M = distributed.ilu(own, ordering="natural")
    ...     distributed.cg(own, np.ones(own.n_local), M=M, rtol=1e-8, history=history)
    ...     return len(history.residuals) - 1
    >>> [distributed.simulate(ranks, iterations)[0] for ranks in (1, 2, 4)]
    [28, 37, 42]
    """
    options: dict[str, Any] = {"ordering": ordering, "sweeps": sweeps, "seed": seed}
    _, stored = _agreed(A, "local", dtype, "auto", lambda: checked_options(**options), scaling)
    return _of_own_blocks(A, incomplete_lu.ilu, {**options, "dtype": stored}, scaling)


def _of_own_blocks(
    A: Matrix, kind: Callable[..., Preconditioner], options: Any, scaling: str | None = None
) -> RankPreconditioner:
    """Block Jacobi: a preconditioner of one rank for each rank's own diagonal block."""
    backend = A.backend

    def make(A: Matrix) -> tuple[LocalPart, int]:
        return LocalPart.of(A, lambda block: kind(block, **options), backend), 0

    return set_up(A, with_scaling(make, scaling, options["dtype"]))


def _agreed(
    A: Any, scope: Any, dtype: Any, repair: Any, check: Any, scaling: Any = None
) -> tuple[Any, DType]:
    """The checked options and the type to store, which all ranks agree on."""
    agreed = agreed_options(
        A,
        lambda: {
            "scope": as_choice("scope", scope, SCOPES),
            "repair": as_choice("repair", repair, REPAIRS),
            "options": check(),
            "scaling": as_scaling(scaling),
            "dtype": stored_dtype(dtype, A.dtype).name,
        },
    )
    return agreed["options"], stored_dtype(agreed["dtype"], A.dtype)
