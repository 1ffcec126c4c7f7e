"""From a [0,2]-factor to a linear forest: cycles lose their weakest edge, paths are ranked."""

from __future__ import annotations

from typing import Any, Literal

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array, Charge, MatrixLike, Ties
from linforest_precond.backends.arguments import as_choice
from linforest_precond.backends.user_warnings import renamed_arguments
from linforest_precond.graph.forest.factor import begin_factor, check_options, propose_factor
from linforest_precond.graph.forest.given_records import checked_factor
from linforest_precond.matrix.checked import checked
from linforest_precond.records.forest import Factor, Forest, Ordering

# Methods that break cycles and label paths.
METHODS = "list_ranking", "bidirectional_scan"


@renamed_arguments(permutation="sorting")
def linear_forest(
    A: MatrixLike | Factor,
    *,
    iterations: int | Literal["auto"] | None = "auto",
    m: int = 5,
    k_m: int = 0,
    p: float = 0.5,
    seed: int = 0,
    charge: Charge = "splitmix64",
    ties: Ties = "auto",
    method: Literal["list_ranking", "bidirectional_scan"] = "list_ranking",
    sorting: Literal["scan", "radix_sort"] = "scan",
) -> Forest:
    """Find a linear forest, disjoint paths that cover all vertices, with a large weight.

    Sections 3.3 and 4.2 of Klein & Strzodka, "Highly Parallel Linear Forest Extraction from a Weighted
    Graph on GPUs" (2022), doi:10.1145/3545008.3545035: a [0,2]-factor whose cycles lose their weakest
    edge, the least by (weight, smaller end, larger end).

    Parameters
    ----------
    A : sparse matrix, dense array or Factor
        A square matrix of SciPy, NumPy or CuPy, or a `Factor` with n = 2 (the options are then its own).
    iterations : int, "auto" or None
        As in `linforest_precond.graph.factor`. Of some graphs, five iterations leave many short paths, which
        a preconditioner along them pays for in every solve; so the default is "auto".
    m, k_m, p, seed, charge, ties
        As in `linforest_precond.graph.factor`.
    method : {"list_ranking", "bidirectional_scan"}
        How cycles are broken and paths labelled, with the same result. "list_ranking" does work linear in the
        vertices: one walk along the paths on the CPU, contraction by splitters on the GPU.
        "bidirectional_scan" is Algorithm 3 of the paper: each of ceil(log2(N)) steps, a launch on the GPU,
        doubles the strides of all vertices in both directions; one such scan finds the weakest edges of
        cycles, a second one the ends of paths.
    sorting : {"scan", "radix_sort"}
        How the vertices are sorted by (path id, position), with the same result: by a prefix sum of the path
        lengths, or by a radix sort of pairs, as in the paper.

    Returns
    -------
    Forest
        On A's device.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> t = lf.linear_forest(lf.matrices.aniso(1, 100))
    >>> print(t)
    linear forest
      vertices       10,000
      paths          33
      longest path   800 vertices
      cycles broken  18
      coverage       0.6689 of the off-diagonal weight
      iterations     5 (factor not proven maximal)
    """
    methods = check_methods(method, sorting)
    if isinstance(A, Factor):
        return break_cycles(checked_factor(A), in_place=True, **methods)
    options = check_options(2, iterations, m, k_m, p, seed, charge, ties)
    graph = checked(A, shared=True, begin=begin_factor(options)).graph
    graph.backend.prefetch("linear_forest", graph, options, method)
    return break_cycles(propose_factor(graph, options), in_place=True, **methods)


def check_methods(method: Any, sorting: Any) -> dict[str, str]:
    """Check the methods of a forest; return the keyword arguments of `break_cycles`."""
    return {
        "method": as_choice("method", method, METHODS),
        "sorting": as_choice("sorting", sorting, SORTING_METHODS),
    }


def break_cycles(
    factor: Factor, in_place: bool = False, method: str = "list_ranking", sorting: str = "scan"
) -> Forest:
    """The linear forest of a [0,2]-factor and its ordering; `in_place` may change the factor's arrays."""
    rooms = factor.backend.forest
    label = rooms.bidirectional_scan if method == "bidirectional_scan" else rooms.linear_forest
    arrays = label.linear_forest(factor.neighbors, factor.values, factor.slots, in_place=in_place)
    fields = arrays._asdict()
    numbered = arrays.path_id, arrays.position, fields.pop("lengths")
    return Forest(
        ordering=order_paths(factor.backend, *numbered, sorting),
        **fields,
        progress=factor.progress,
        total_weight=factor.total_weight,
        scale=factor.scale,
    )


# Methods that sort the vertices: an exclusive scan of the path lengths, or a radix sort.
SORTING_METHODS = "scan", "radix_sort"


def order_paths(
    backend: Backend, path_id: Array, position: Array, lengths: Array, method: str = "scan"
) -> Ordering:
    """Sort the vertices by (path id, position), by one of the `SORTING_METHODS`."""
    module = backend.forest.linear_forest
    order = module.order_by_radix_sort if method == "radix_sort" else module.order_by_scan
    return Ordering(*order(path_id, position, lengths))
