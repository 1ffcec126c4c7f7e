"""The choice of a preconditioner over ranks, by the rules of one process."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import astuple, replace
from typing import Any

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.user_warnings import without_numpy_warnings
from linforest_precond.chooser.candidates import Candidate, candidates_on
from linforest_precond.chooser.chooser import Chooser
from linforest_precond.chooser.costs import CostModel
from linforest_precond.chooser.facts import Facts
from linforest_precond.chooser.machine import Machine
from linforest_precond.chooser.one_solve import MOST_ITERATIONS, digits_of
from linforest_precond.chooser.system import Options, tolerance
from linforest_precond.chooser.trials import Trial, method_for
from linforest_precond.distributed.approximate_inverse.approximate_inverse import approximate_inverse
from linforest_precond.distributed.chooser.facts import facts_of_ranks
from linforest_precond.distributed.multigrid.multilevel import multilevel
from linforest_precond.distributed.partition import host
from linforest_precond.distributed.partition.entries import without_rounding
from linforest_precond.distributed.partition.matrix import Matrix, agreed_options, exponent_into_range
from linforest_precond.distributed.partition.preconditioner import RankPreconditioner
from linforest_precond.distributed.tridiagonal.operators import jacobi, tridiagonal
from linforest_precond.matrix.conversion import index_dtype
from linforest_precond.matrix.value_range import shifted
from linforest_precond.precond.kinds import faces
from linforest_precond.solvers.history import History
from linforest_precond.solvers.problem import checked_problem

# Kinds of one process whose products have the same bits for any number of ranks: not "ilu" of blocks.
KINDS: dict[str, Callable[..., Any]] = {
    each.__name__: each for each in (jacobi, tridiagonal, approximate_inverse, multilevel)
}


@without_numpy_warnings
def auto(
    A: Matrix, *, rtol: float | None = None, seed: int = 0, calibration: str = "measured"
) -> RankPreconditioner:
    """The preconditioner over ranks that is expected to take the least time, with its setup.

    Collective. Facts of the matrix and the residuals of the first iterations predict what each kind would
    take, by the rules of `linforest_precond.auto`. The candidates are "jacobi", "tridiagonal",
    "approximate_inverse" and "multilevel"; there is no direct factorization over ranks. All ranks make the
    same choice: facts and residuals are reductions, and costs those of the whole matrix on the machine of
    rank 0. So the choice does not depend on the number of ranks or the partition, either.

    Parameters
    ----------
    A : Matrix
        The matrix over ranks.
    rtol : float, optional
        The tolerance of the solves that it is for, as that of `linforest_precond.solve`: the smaller, the
        more an expensive setup pays.
    seed : int
        Of the forests and the hierarchies.
    calibration : {"measured", "default"}
        As that of `linforest_precond.auto`, of the machine of rank 0.

    Returns
    -------
    RankPreconditioner
        Of the kind that was chosen. ``print(M)`` names the choice, the Krylov method that it was tried with,
        and the candidates that it was compared with.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> from linforest_precond import distributed
    >>> A = lf.matrices.aniso(2, 30)
    >>> def kind(comm):
    ...     return distributed.auto(distributed.scatter(A, comm), calibration="default").kind
    >>> distributed.simulate(3, kind)
    ['multilevel', 'multilevel', 'multilevel']
    """
    options = agreed_options(A, lambda: Options.of(rtol=rtol, seed=seed, calibration=calibration))
    with A.comm.together():
        if not A.shape[0]:
            return jacobi(A)
        exact = without_rounding(A)
        cost = _cost_of(exact, facts := facts_of_ranks(exact), options.calibration)
        choice: Any = _chooser(exact.on(A.backend), facts, cost, options).settled("distributed")
        return choice


def _chooser(A: Matrix, facts: Facts, cost: CostModel, options: Options) -> Chooser:
    """The chooser of one process, with candidates and a system over ranks."""
    b = _right_hand_side(A, facts)
    most = min(10 * A.shape[0], MOST_ITERATIONS)
    rtol = tolerance(options.rtol, A.dtype)
    problem = checked_problem(A.operator, b, None, rtol, 0.0, most, None, None, A.inner)
    made = dict[str, RankPreconditioner]()

    def start(candidate: Candidate, method: str, present: Trial | None) -> Trial | None:
        setup = 0.0 if candidate.name in made else cost.seconds(candidate.setup)
        if candidate.name not in made:
            try:
                own = KINDS[candidate.kind](A, **candidate.options)
                made[candidate.name] = faces()[candidate.kind].cycle_of(own)
            except ValueError as error:
                if candidate.name == "jacobi" or not getattr(error, "is_on_all_ranks", False):
                    raise
                chooser.events.append(f"{candidate.name} cannot be set up: {error}")
                return None
        M = made[candidate.name]
        x = present.x.copy() if present is not None and present.is_better_than_its_start else None
        krylov = method_for(M, method)
        iteration = cost.iteration(krylov, candidate.application)
        return Trial(candidate, M, krylov, problem, setup, iteration, x, History())

    candidates, digits = _candidates(facts, options.seed), digits_of(problem)
    chooser = Chooser(candidates, facts, cost, start, lambda most: math.inf, digits, most)
    return chooser


def _candidates(facts: Facts, seed: int) -> list[Candidate]:
    """Those of one process that there are over ranks."""
    return [
        replace(each, call=each.call.replace("lf.", "distributed."))
        for each in candidates_on("cpu", facts, seed)
        if each.name in KINDS  # not those with a matching of rows and columns
    ]


def _cost_of(A: Matrix, facts: Facts, calibration: str) -> CostModel:
    """Costs of the whole matrix on the machine of rank 0: the same for any partition."""
    numbers = astuple(Machine.of(A.backend, calibration)) if A.comm.rank == 0 else None
    machine = Machine(*A.comm.allgather(numbers)[0])
    value, index = A.dtype.itemsize, index_dtype(max(facts.entries, facts.rows)).itemsize
    return CostModel.of_sizes(
        facts.rows, facts.entries, (value, index, value), 1, machine, machine, A.backend
    )


def _right_hand_side(A: Matrix, facts: Facts) -> Array:
    """Pseudorandom numbers, the same for any partition; in the range of A where that is singular."""
    x = A.backend.multigrid.vector_ops.pseudorandom_vector(A.n_local, A.dtype, A.first)[:, 0]
    if not facts.is_singular:
        return x
    return A @ shifted(x, -max(0, exponent_into_range(A.on(host), A.dtype)))
