"""`greedy_factor` is the sequential reference of the parallel [0,n]-factor."""

from __future__ import annotations

from linforest_precond.backends.annotations import MatrixLike
from linforest_precond.backends.arguments import as_choice
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.graph.forest.factor import check_options
from linforest_precond.matrix.checked import CheckedMatrix, checked
from linforest_precond.records.forest import Factor

# The total orders among equal weights.
TIES = "index", "random"


@named_arguments
def greedy_factor(A: MatrixLike | CheckedMatrix, n: int = 2, *, ties: str = "index", seed: int = 0) -> Factor:
    """Take the edges by decreasing weight, each whose ends both have fewer than n edges.

    Algorithm 1 of Klein & Strzodka (2022), doi:10.1145/3545008.3545035.
    ``factor(A, n, m=1, iterations=None, ties=ties, seed=seed)`` gives the same edges.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy.
    n : int
        Largest degree, 1 to 4.
    ties : {"index", "random"}
        The order among edges of equal weight: by (smaller end, larger end), or by a hash of the edge and
        `seed`, as tiny random changes of the weights would give it. Ties by index pair the couplings along a
        grid line perfectly.
    seed : int
        Seed of a random order.

    Returns
    -------
    Factor
        Maximal, with ``iterations`` 1: one sweep over the edges.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> round(lf.graph.greedy_factor(lf.matrices.aniso(1, 100), n=2).coverage, 2)
    0.67
    """
    options = check_options(n, seed=seed)
    ties = as_choice("ties", ties, TIES)
    graph = checked(A).graph
    factor = graph.backend.forest.factor
    neighbors, values, slots = factor.greedy_factor(graph, options.n, ties, options.seed)
    own_slots = slots if graph.slots_are_matrix else None
    return Factor(neighbors, values, own_slots, (1, True), graph.total_weight, graph.scale)
