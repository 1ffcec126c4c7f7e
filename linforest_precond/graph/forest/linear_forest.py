"""From a [0,2]-factor to a linear forest: cycles lose their weakest edge, paths are ranked."""

from __future__ import annotations

from typing import Literal

from linforest_precond.annotations import MatrixLike
from linforest_precond.backends import backend_of
from linforest_precond.gate import as_graph
from linforest_precond.graph.forest.factor import check_options, propose_factor
from linforest_precond.graph.forest.given_records import checked_factor
from linforest_precond.graph.forest.ordering import order_paths
from linforest_precond.records import Factor, Forest


def linear_forest(
    A: MatrixLike | Factor,
    *,
    iterations: int | Literal["auto"] | None = "auto",
    m: int = 5,
    k_m: int = 0,
    p: float = 0.5,
    seed: int = 0,
) -> Forest:
    """Find a linear forest, disjoint paths that cover all vertices, with a large weight.

    Sections 3.3 and 4.2 of Klein & Strzodka, "Highly Parallel Linear Forest Extraction from a Weighted
    Graph on GPUs" (2022), doi:10.1145/3545008.3545035: a [0,2]-factor whose cycles lose their weakest
    edge, the least by (weight, smaller end, larger end).

    Parameters
    ----------
    A : sparse matrix, dense array or Factor
        A square matrix of SciPy, NumPy or CuPy, or a `Factor` with n = 2 (the options are then its own).
    iterations, m, k_m, p, seed
        As in `linforest_precond.graph.factor`.

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
    if isinstance(A, Factor):
        return break_cycles(checked_factor(A), in_place=True)
    options = check_options(2, iterations, m, k_m, p, seed)
    return break_cycles(propose_factor(as_graph(A, shared=True), **options), in_place=True)


def break_cycles(factor: Factor, in_place: bool = False) -> Forest:
    """The linear forest of a [0,2]-factor and its ordering; `in_place` may change the factor's arrays."""
    backend = backend_of(factor.neighbors)
    arrays = backend.forest.linear_forest.linear_forest(
        factor.neighbors, factor.values, factor.slots, in_place=in_place
    )
    fields = arrays._asdict()
    return Forest(
        ordering=order_paths(arrays.path_id, arrays.position, fields.pop("lengths")),
        **fields,
        progress=factor.progress,
        total_weight=factor.total_weight,
        scale=factor.scale,
    )
