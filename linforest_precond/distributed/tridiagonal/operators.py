"""Tridiagonal, block tridiagonal and Jacobi preconditioners of matrices over ranks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias, Unpack

import numpy.typing as npt

from linforest_precond.backends.annotations import DType, IluOrder, ScalingName
from linforest_precond.backends.arguments import as_choice
from linforest_precond.backends.user_warnings import without_numpy_warnings
from linforest_precond.distributed.forest.block_forest import best_block_forest
from linforest_precond.distributed.forest.factor import propose_factor
from linforest_precond.distributed.forest.graph import graph_of
from linforest_precond.distributed.forest.linear_forest import forest_of
from linforest_precond.distributed.partition.matrix import Matrix
from linforest_precond.distributed.partition.preconditioner import RankPreconditioner
from linforest_precond.distributed.partition.scaling import set_up_scaled
from linforest_precond.distributed.tridiagonal.preconditioner_parts import (
    LocalPart,
    RankJacobiPart,
    RankTridiagonalPart,
)
from linforest_precond.graph.forest.factor import BlockKeywords, FactorKeywords, check_options
from linforest_precond.graph.forest.pairs import check_block_options
from linforest_precond.precond.ilu import incomplete_lu
from linforest_precond.precond.ilu.incomplete_lu import checked_options
from linforest_precond.precond.tridiagonal import tridiagonal as one_rank
from linforest_precond.precond.tridiagonal.tridiagonal_part import REPAIRS

SCOPES = "global", "local"
Options: TypeAlias = dict[str, Any]


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
    own = Options(**options, repair=repair)

    def make(exact: Matrix, agreed: Options, stored: DType) -> tuple[RankTridiagonalPart | LocalPart, int]:
        if scope == "local":
            return LocalPart.of(exact, partial(one_rank.tridiagonal, dtype=stored, **own), A.backend)
        graph = graph_of(exact, A.backend)
        forest = forest_of(graph, propose_factor(graph, agreed["options"]))
        return RankTridiagonalPart.of(exact, "tridiagonal", forest, stored, repair)

    return set_up_scaled(A, _checked(scope, repair, check_options, 2, **options), make, dtype, scaling)


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
    own = Options(**options, block_size=block_size, m=m, repair=repair)

    def make(exact: Matrix, agreed: Options, stored: DType) -> tuple[RankTridiagonalPart | LocalPart, int]:
        if scope == "local":
            return LocalPart.of(exact, partial(one_rank.block_tridiagonal, dtype=stored, **own), A.backend)
        forest = best_block_forest(graph_of(exact), agreed["options"])
        return RankTridiagonalPart.of(exact, "block_tridiagonal", forest, stored, repair)

    check = _checked(scope, repair, check_block_options, block_size, m, **options)
    return set_up_scaled(A, check, make, dtype)


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
    return set_up_scaled(A, dict, lambda A, _, stored: RankJacobiPart.of_ranks(A, stored), dtype)


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

    def make(exact: Matrix, _: Any, stored: DType) -> tuple[LocalPart, int]:
        return LocalPart.of(exact, partial(incomplete_lu.ilu, dtype=stored, **options), A.backend)

    return set_up_scaled(A, partial(checked_options, **options), make, dtype, scaling)


def _checked(
    scope: str, repair: str, check: Callable[..., Any], *given: Any, **options: Any
) -> Callable[[], Options]:
    """A function that checks the scope, the repair and the options of a forest."""
    return lambda: {
        "scope": as_choice("scope", scope, SCOPES),
        "repair": as_choice("repair", repair, REPAIRS),
        "options": check(*given, **options),
    }
