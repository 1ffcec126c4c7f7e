"""Matchings: heavy edges, no two of which share a vertex."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from linforest_precond.backends import backend_named, require_device
from linforest_precond.backends.annotations import Array, Charge, MatrixLike
from linforest_precond.backends.arguments import as_choice, as_integer, as_number
from linforest_precond.backends.hash_keys import iteration_keys
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.graph.forest.factor import CHARGES, check_options, propose_factor
from linforest_precond.matrix.doors import as_mapped_graph, as_weighted_graph
from linforest_precond.matrix.graphs import Graph
from linforest_precond.records.forest import Progress
from linforest_precond.records.matching import Matching

# The options of each method beside `weights` and `seed`.
OPTIONS: dict[str, tuple[str, ...]] = {
    "greedy": (),
    "locally_dominant": ("batches", "device"),
    "suitor": (),
    "random": ("p", "max_rounds", "colours"),
    "weighted": ("p", "max_rounds", "colours"),
    "factor": ("max_rounds",),
    "augmented": ("max_rounds",),
    "paz_schwartzman": ("epsilon",),
}
# Conflicting augmentations are ordered by their centres, 32-bit numbers.
MOST_AUGMENTED = 2**32
# Methods of the CPU backend alone, and their modules.
CPU_METHODS = {"greedy": "greedy_matching", "paz_schwartzman": "paz_schwartzman"}
DEFAULTS: dict[str, Any] = {
    "p": 0.53406,
    "max_rounds": None,
    "epsilon": 0.1,
    "batches": None,
    "device": None,
    "colours": "splitmix64",
}


@named_arguments
def matching(
    A: MatrixLike,
    method: str = "locally_dominant",
    weights: str | npt.ArrayLike = "magnitude",
    *,
    seed: int = 0,
    p: float = 0.53406,
    max_rounds: int | None = None,
    epsilon: float = 0.1,
    batches: int | None = None,
    device: str | None = None,
    colours: Charge = "splitmix64",
) -> Matching:
    """Find a matching of A's graph: edges no two of which share a vertex.

    Edges are in a total order: (-weight, hash of the ends and the seed, lower end, higher end). Therefore
    "greedy", "locally_dominant" and "suitor" find the same matching, a 1/2-approximation of the maximum
    weight. The same input and seed give the same matching on every device and for any number of threads.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy.
    method : str
        - "greedy": edges by decreasing weight, each matched if both ends are free. CPU only. Algorithm 2 of
          Fagginger Auer & Bisseling, "A GPU Algorithm for Greedy Graph Matching" (2012),
          doi:10.1007/978-3-642-30397-5_10.
        - "locally_dominant": each free vertex points along its best edge to a free vertex; mutual pointers
          are matched; repeated until no free vertex has a free neighbour. Manne & Bisseling, "A Parallel
          Approximation Algorithm for the Weighted Maximum Matching Problem" (2008),
          doi:10.1007/978-3-540-68111-3_74.
        - "suitor": each vertex proposes to the best neighbour that would accept it, and again when a better
          suitor displaces it. Manne & Halappanavar, "New Effective Multithreaded Matching Algorithms"
          (2014), doi:10.1109/IPDPS.2014.61.
        - "random", "weighted": in every round vertices draw a colour, and blue ones propose to red ones: to
          the first neighbour in a random order of the vertices, or along their heaviest edge. Algorithm 3 of
          Fagginger Auer & Bisseling; see `colours`.
        - "factor": the [0,1]-factor of `factor`, until it is maximal.
        - "augmented": the locally dominant matching, augmented: along a path or cycle, up to two edges are
          added and up to three removed. All augmentations that are the best at each of their vertices (by
          gain, then hash of the centre, then centre) are applied at once, round after round, until no one
          increases the weight: a 2/3-approximation. Pettie & Sanders, "A Simpler Linear Time 2/3 - ε
          Approximation for Maximum Weight Matching" (2004), doi:10.1016/j.ipl.2004.05.007; Birn, Osipov,
          Sanders, Schulz & Sitchinava, "Efficient Parallel and External Matching" (2013),
          doi:10.1007/978-3-642-40047-6_66. The result has dual variables, which bound the optimum.
        - "paz_schwartzman": the semi-streaming local-ratio algorithm: one pass over the stored edges, few of
          which are kept. A 1/(2 + epsilon)-approximation. CPU only. Paz & Schwartzman, "A
          (2+ε)-Approximation for Maximum Weight Matching in the Semi-Streaming Model" (2018),
          doi:10.1145/3274668.
    weights : {"magnitude", "pattern"} or 1-D array
        The magnitudes of A's entries (``|A| + |A|^T`` where they are not symmetric); 1 for every edge; or one
        nonnegative number for each stored entry of A, in their order (where these are not symmetric, those of
        the two directions of an edge are added). An edge of weight 0 is no edge.
    seed : int
        Seed of the order among equal weights, and of the colours.
    p : float
        For "random" and "weighted": the probability of blue.
    max_rounds : int or None
        For "random", "weighted", "factor" and "augmented": the largest number of rounds, for "augmented" of
        augmentations. None goes on until the matching is maximal, and no augmentation is left.
    epsilon : float
        For "paz_schwartzman": a smaller one keeps more edges.
    batches : int or None
        For "locally_dominant": the number of batches of rows in which the graph is streamed, through the GPU
        with `device`, else through the memory of the host. The matching does not depend on it. None chooses
        it by the free memory of the GPU; on the host the graph is then in memory as a whole.

        On the GPU, a graph that fits into the free memory stays there, and is copied once. Otherwise two
        batches of entries are there at a time, and in the end the rows of the vertices that may still be
        matched. After the first round, only the rows are copied whose vertices must point anew. Threads copy
        through pinned memory, at most 64 MiB for the entries; arrays that are pinned already are copied from
        where they are.

        On the host, the values and indices of a symmetric CSR matrix with sorted rows may be memory-mapped
        files (``np.load(..., mmap_mode="r")``), larger than the memory: apart from one batch at a time (two
        at the end), only five indices per vertex are kept, and the values of the result. Other matrices are
        made symmetric in memory first.
    device : {"cuda"} or None
        For "locally_dominant" and a SciPy matrix: out-of-core matching. The graph stays on the host and is
        streamed through the GPU, for graphs larger than the GPU's memory. The matching is on the host.
    colours : {"splitmix64", "md5"}
        For "random" and "weighted": the hash that colours are drawn by. "splitmix64" is that of the charges
        of `factor`. "md5" is Algorithm 4 of Fagginger Auer & Bisseling: the first quarter of MD5 of the words
        v, r v, ..., r^15 v modulo 2^32, with a random number r for each round. It ignores r at v = 0, so that
        vertex 0 has the same colour in all rounds. Red vertices without unmatched neighbours are then taken
        out in the same round as blue ones, as in the paper.

    Returns
    -------
    Matching
        On A's device.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> r = lf.graph.matching(lf.matrices.aniso(1, 100), "suitor")
    >>> print(r)
    matching (suitor)
      vertices    10,000
      edges       4,683, 634 vertices are single
      weight      4377.6
      coverage    0.2956 of the off-diagonal weight
      iterations  1 (maximal)
    >>> print(lf.graph.matching(lf.matrices.aniso(1, 100), "augmented"))
    matching (augmented)
      vertices    10,000
      edges       4,850, 300 vertices are single
      weight      4704.6
      gap         at most 0.0920 of the optimum is missing
      coverage    0.3177 of the off-diagonal weight
      iterations  4 (maximal)
    """
    given = {"p": p, "max_rounds": max_rounds, "epsilon": epsilon, "batches": batches, "device": device}
    given["colours"] = colours
    options = check_matching_options(method, seed, **given)
    in_place = batches is not None and device is None and isinstance(weights, str) and weights == "magnitude"
    graph = as_mapped_graph(A) if in_place else as_weighted_graph(A, weights)
    if method in CPU_METHODS and not hasattr(graph.backend.matching, CPU_METHODS[method]):
        others = ", ".join(f'"{name}"' for name in OPTIONS if name not in CPU_METHODS)
        raise ValueError(f'method "{method}" works on the CPU only, and A is on the GPU; use one of {others}')
    duals, on_host = None, graph.backend.maps_files
    if method == "augmented":
        graph = with_own_values(graph)
        mate, progress, mate_weights = augment_dominant(graph, options["seed"], options["limit"])
        duals = vertex_duals(graph, mate, mate_weights)
    elif on_host and (device is not None or batches is not None):
        mate, progress = _match_out_of_core(graph, options["seed"], batches, device)
    else:
        mate, progress = match_graph(graph, method, **options)
    values = graph.backend.matching.matched_weight.matched_edge_values(graph, mate)
    return Matching(mate, values, progress, graph.total_weight, graph.scale, method, duals)


def match_graph(
    graph: Graph,
    method: str,
    *,
    seed: int = 0,
    threshold: int = 0,
    limit: int | None = None,
    epsilon: float = 0.1,
    colours: str = "splitmix64",
) -> tuple[Array, Progress]:
    """The mates in a graph, and the progress: rounds, maximal. Graph and options are checked already."""
    backend, graph = graph.backend, with_own_values(graph)
    if method == "augmented":
        return augment_dominant(graph, seed, limit)[:2]
    if method == "factor":
        options = replace(check_options(1, None, seed=seed), limit=limit)
        factor = propose_factor(graph, options)
        return factor.neighbors.reshape(-1), factor.progress
    if method in ("random", "weighted"):
        weighted, md5 = method == "weighted", colours == "md5"
        return backend.matching.proposals.match(graph, weighted, threshold, seed, limit, md5)
    module = getattr(backend.matching, CPU_METHODS.get(method, method))
    return module.match(graph, epsilon if method == "paz_schwartzman" else tie_key_of(seed))


def augment_dominant(graph: Graph, seed: int, limit: int | None) -> tuple[Array, Progress, Array]:
    """The augmented locally dominant matching, its progress, and the weights of mates as in `augment`."""
    if graph.n > MOST_AUGMENTED:
        raise ValueError(f'method "augmented" takes at most {MOST_AUGMENTED} vertices, got {graph.n}')
    backend, tie_key = graph.backend, tie_key_of(seed)
    mate, _ = backend.matching.locally_dominant.match(graph, tie_key)
    progress, mate_weights = backend.matching.matched_weight.augment(graph, mate, tie_key, limit)
    return mate, progress, mate_weights


def with_own_values(graph: Graph) -> Graph:
    """The graph with values that the user cannot change: rounds end only if the weights stay."""
    return replace(graph, values=graph.values.copy()) if graph.values_are_matrix else graph


def tie_key_of(seed: int) -> np.uint32:
    """The key of the hash that orders equal weights."""
    return iteration_keys(seed, 0)[1]


def _match_out_of_core(
    graph: Graph, seed: int, batches: int | None, device: str | None
) -> tuple[Array, Progress]:
    """Match locally dominant edges of a graph on the host in batches, on the GPU if asked for."""
    require_device(device, otherwise="device=None works on the CPU")
    room: Any = backend_named(device or "cpu").matching
    if batches is not None:
        batches = min(batches, max(graph.n, 1))  # a batch has a row at least
    return room.out_of_core_matching.match(graph, tie_key_of(seed), batches)


def check_matching_options(method: Any, seed: Any, **given: Any) -> dict[str, Any]:
    """Check the options of `matching`, which are those of DEFAULTS, and return those of `match_graph`."""
    as_choice("method", method, OPTIONS)
    p, max_rounds, epsilon, batches, device, colours = (given[name] for name in DEFAULTS)
    for name, value in given.items():
        if name not in OPTIONS[method] and value != DEFAULTS[name]:
            raise ValueError(f'method "{method}" takes no {name}, got {name}={value!r}')
    if device not in (None, "cuda"):
        raise ValueError(f'device must be None or "cuda", got {device!r}')
    if batches is not None:
        as_integer("batches", batches, 1)
    if max_rounds is not None and as_integer("max_rounds", max_rounds) < 1:
        raise ValueError(f"max_rounds must be at least 1, got {max_rounds}; None goes on until maximal")
    checked = check_options(1, max_rounds, 1, 0, p, seed)
    md5 = as_choice("colours", colours, CHARGES) == "md5"
    if max_rounds is None and not 0.0 < float(p) < 1.0:
        raise ValueError(f"p must lie in (0, 1) where max_rounds is None, got {p}: one colour never matches")
    return {
        "seed": checked.seed,
        "threshold": math.ceil(float(p) * 2.0**32) if md5 else checked.threshold,
        "limit": checked.limit,
        "epsilon": _as_epsilon(epsilon),
        "colours": colours,
    }


def _as_epsilon(epsilon: Any) -> float:
    number = as_number("epsilon", epsilon)
    if not 0.0 < number < float("inf"):
        raise ValueError(f"epsilon must be positive and finite, got {number}")
    return number


# Sweeps that balance dual variables along matched edges, and sweeps that lower feasible ones.
BALANCING_SWEEPS, LOWERING_SWEEPS = 4, 1


def vertex_duals(graph: Graph, mate: Array, mate_weights: Array) -> Array:
    """Numbers y >= 0 with y_u + y_v >= weight of (u, v) for all edges: their sum bounds every matching.

    They start as halves of the weights of the matched edges (float64, times the graph's scale, as the
    result). In a sweep the two ends of a matched edge divide its weight by what their other neighbours leave
    them (Nash's bargaining solution), and all vertices go half of the way, at once; single ones stay at 0.
    Then the ends of edges that are not covered are raised, each by half of what is missing, and all vertices
    are lowered to the mean of themselves and the least that their neighbours allow, which keeps all edges
    covered.

    Rounding errors of the last sweeps are a few units in the last place: `Matching.upper_bound` covers them.
    """
    xp, best_offers = graph.backend.xp, graph.backend.matching.matched_weight.best_offers
    duals, nobody = 0.5 * mate_weights, xp.full_like(mate, -1)
    other = xp.where(mate < 0, xp.arange(mate.size, dtype=mate.dtype), mate)
    for _ in range(BALANCING_SWEEPS):
        offers = best_offers(graph, duals, mate)
        offers -= offers[other]
        offers += mate_weights
        offers *= 0.5
        duals += xp.maximum(offers, 0.0, out=offers)
        duals *= 0.5
    duals = xp.maximum(duals, 0.5 * (duals + best_offers(graph, duals, nobody)))
    for _ in range(LOWERING_SWEEPS):
        duals += best_offers(graph, duals, nobody)
        duals *= 0.5
    return duals
