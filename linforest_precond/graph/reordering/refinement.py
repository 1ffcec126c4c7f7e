"""Refinement of an ordering by swaps along edges that lower a gap metric."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from linforest_precond.backends.annotations import Array, MatrixLike
from linforest_precond.backends.arguments import as_choice, as_integer
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.backends.hash_keys import VERTEX_STRIDE, iteration_keys, mixed
from linforest_precond.backends.user_warnings import renamed_arguments
from linforest_precond.graph.reordering.gap_metrics import loop_free
from linforest_precond.graph.reordering.permute import given_or_own_order
from linforest_precond.matrix.doors import as_pattern
from linforest_precond.records.progress import showing

METRICS = "log_gap", "linear_gap"
# The most passes, and the most rounds.
MOST = 2**31 - 1
# The change of a metric by a swap is a 64-bit sum, which more neighbours could overflow.
LARGEST_DEGREE = 2**23


@renamed_arguments(order="ordering")
def refine_ordering(
    A: MatrixLike,
    ordering: npt.ArrayLike | None = None,
    metric: str = "log_gap",
    fraction: float = 0.01,
    *,
    passes: int = 1,
    max_degree: int = 100,
    max_rounds: int = 1000,
    seed: int = 0,
    progress: bool = False,
) -> Array:
    """Refine an ordering: vertices of low degree swap their places with neighbours where a gap metric falls.

    Degree-based refinement of Mandulak, Hu & Slota [1]_. A fraction of the vertices, those of lowest degree,
    each find the swap with a neighbour that lowers the metric most. The swaps are then completed in the
    order of the degrees, each if it still lowers the metric. Only the rows of the neighbours of both vertices
    are evaluated, never the whole metric. The metric never gets worse, and the same input and seed give the
    same order on every device and for any number of threads.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy. Stored entries are edges; values and directions do not matter.
    ordering : permutation, optional
        The order to refine, ``ordering[new] = old``; A's own by default.
    metric : {"log_gap", "linear_gap"}
        What is lowered: `log_gap` or `linear_gap`.
    fraction : float
        The share of the vertices that have neighbours, lowest degrees first, that look for a swap; in (0, 1].
    passes : int
        How often all of this is done; it ends earlier when no swap lowers the metric.
    max_degree : int
        Vertices of more neighbours than this are not swapped: the cost of evaluating the swaps of a vertex
        grows with the square of its degree.
    max_rounds : int
        On the GPU, swaps that change no row in common are completed at once, in rounds [2]_. Swaps after so
        many rounds are dropped, on every device: where all swaps change the row of one hub, rounds have one
        swap each.
    seed : int
        Seed of the order among vertices of equal degree.
    progress : bool
        Show the passes that are done on the standard error output.

    Returns
    -------
    array of int32
        The refined order, ``order[new] = old``, on A's device.

    References
    ----------
    .. [1] M. Mandulak, R. Hu, G. Slota, "Explicit ordering refinement for accelerating irregular graph
       analysis", HPEC 2022
    .. [2] G. E. Blelloch, J. T. Fineman, P. B. Gibbons, J. Shun, "Internally deterministic parallel
       algorithms can be fast", PPoPP 2012, https://doi.org/10.1145/2145816.2145840

    Examples
    --------
    >>> import linforest_precond as lf
    >>> A = lf.matrices.poisson((30, 30))
    >>> order = lf.graph.refine_ordering(A, fraction=1.0, passes=5)
    >>> lf.graph.log_gap(A, order) < lf.graph.log_gap(A)
    True
    """
    as_choice("metric", metric, METRICS)
    share = _as_fraction(fraction)
    passes, max_rounds = as_integer("passes", passes, 1, MOST), as_integer("max_rounds", max_rounds, 1, MOST)
    max_degree = as_integer("max_degree", max_degree, 1, LARGEST_DEGREE)
    seed = as_integer("seed", seed) % 2**64

    pattern = as_pattern(A)
    backend = pattern.backend
    refined = given_or_own_order(ordering, pattern.n, backend).order
    indptr, neighbours = loop_free(pattern)
    refine = backend.reordering.gap_metrics.refine
    with showing(passes, progress, "refinement", "pass") as bar:
        for number in range(passes):
            candidates = _lowest_degrees(pattern.degrees, share, max_degree, seed, number)
            refined, swaps = refine(
                indptr, neighbours, refined, candidates, metric == "log_gap", max_degree, max_rounds
            )
            bar.finished(f"refinement: pass {number + 1} of at most {passes}, {swaps:,} swaps")
            if not swaps:
                break
    return refined


def _lowest_degrees(degrees: Array, fraction: float, max_degree: int, seed: int, number: int) -> Array:
    """A share of the vertices with neighbours by (degree, hash, index), up to a degree."""
    xp = xp_of(degrees)
    vertices = xp.flatnonzero(degrees)  # stall: CuPy counts them to allocate
    key, _ = iteration_keys(seed, number)
    hashes = mixed(key + vertices.astype(np.uint64) * VERTEX_STRIDE)
    keys = degrees[vertices].astype(np.uint64) << np.uint64(32) | hashes >> np.uint64(32)
    count = math.ceil(fraction * vertices.size)
    # Stable: CuPy sorts by radix, and equal hashes keep the order of the indices.
    candidates = vertices[xp.argsort(keys, kind="stable")[:count]].astype(np.int32)
    return candidates[degrees[candidates] <= max_degree]


def _as_fraction(fraction: Any) -> float:
    if isinstance(fraction, bool) or not isinstance(fraction, float | int | np.floating | np.integer):
        raise TypeError(f"fraction must be a number in (0, 1], got {fraction!r}")
    if not 0 < fraction <= 1:
        raise ValueError(f"fraction must lie in (0, 1], got {fraction}")
    return float(fraction)
