"""The linear forest over ranks: cycles lose their weakest edge, paths are ranked.

Each rank walks along its local paths; only those that continue on other ranks take part in the list ranking.
"""

from __future__ import annotations

from typing import NamedTuple, Unpack

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.distributed.forest.factor import FactorArrays, covered_share, propose_factor
from linforest_precond.distributed.forest.graph import RankGraph, graph_of
from linforest_precond.distributed.forest.list_ranking import END
from linforest_precond.distributed.forest.local_paths import LocalPaths, break_crossing_cycles, contract, link
from linforest_precond.distributed.forest.ordering import forest_order
from linforest_precond.distributed.forest.records import RankForest
from linforest_precond.distributed.partition.entries import without_rounding
from linforest_precond.distributed.partition.matrix import Matrix, agreed_options
from linforest_precond.distributed.partition.owners import lookup
from linforest_precond.graph.forest.factor import FactorKeywords, check_options
from linforest_precond.records.forest import share_of


@named_arguments
def linear_forest(A: Matrix, **options: Unpack[FactorKeywords]) -> RankForest:
    """Find a linear forest of the graph of a matrix over ranks, the same as on one rank.

    Collective: all ranks call it with the same options. Memory is proportional to the own rows and ghosts.

    Parameters
    ----------
    A : Matrix
        The matrix over ranks.
    **options
        `iterations`, `m`, `k_m`, `p`, `seed`, `charge` and `ties`, as in `linforest_precond.linear_forest`,
        whose result this is, bit for bit.

    Returns
    -------
    RankForest
        The paths through this rank's vertices, and the order of all; on A's device.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> from linforest_precond import distributed
    >>> A = lf.matrices.aniso(1, 100)
    >>> def forest(comm):
    ...     return distributed.linear_forest(distributed.scatter(A, comm))
    >>> print(distributed.simulate(3, forest)[0])
    linear forest over ranks
      vertices       10,000
      paths          33
      longest path   800 vertices
      cycles broken  18
      coverage       0.6689 of the off-diagonal weight
      iterations     5 (factor not proven maximal)
    """
    agreed = agreed_options(A, lambda: check_options(2, **options))
    with A.comm.together():
        graph = graph_of(without_rounding(A), A.backend)
        return forest_of(graph, propose_factor(graph, agreed))


def forest_of(graph: RankGraph, factor: FactorArrays) -> RankForest:
    """The linear forest of a [0,2]-factor, and its order."""
    paths = break_cycles(graph, factor)
    places = place_paths(graph, paths)
    order = forest_order(graph.comm, graph.offsets, places.positions, places.numbers, graph.n)
    return RankForest(
        neighbors=paths.neighbors,
        values=paths.values,
        path_id=paths.path_id,
        position=paths.position,
        order=order,
        n_paths=places.n_paths,
        longest_path=places.longest,
        n_cycles_broken=paths.cycles,
        iterations=factor.iterations,
        maximal=factor.maximal,
        coverage=covered_share(graph, paths.values),
        identity_coverage=share_of(graph.adjacent_weight, graph.total_weight),
    )


class Paths(NamedTuple):
    """The paths through own vertices: edges, path ids, positions from 1, lengths of the paths."""

    neighbors: Array
    values: Array
    path_id: Array
    position: Array
    lengths: Array
    cycles: int


class Places(NamedTuple):
    """Own vertices in the order of the paths: first place and number of the path, and the own place.

    `n_paths` and `longest` are the number of all paths and the length of the longest one.
    """

    starts: Array
    numbers: Array
    positions: Array
    n_paths: int
    longest: int


def break_cycles(graph: RankGraph, factor: FactorArrays) -> Paths:
    """Break the cycles of a [0,2]-factor and rank its paths."""
    comm, neighbors, values = graph.comm, factor.neighbors.copy(), factor.values.copy()
    local = contract(graph, neighbors, values)
    contracted, cycles = link(graph, local), local.cycles
    ranked = contracted.rank_paths()
    on_cycle = ranked[:, 0] != END
    if comm.total(np.count_nonzero(on_cycle)):
        cycles += break_crossing_cycles(graph, local, contracted, on_cycle, neighbors, values)
        local = contract(graph, neighbors, values)
        ranked = link(graph, local).rank_paths()
    labels = path_labels(graph, local, ranked)
    return Paths(neighbors, values, *labels, cycles=comm.total(cycles))


def place_paths(graph: RankGraph, paths: Paths) -> Places:
    """The places of own vertices, sorted by (path id, position): a prefix sum of the path lengths."""
    comm, xp = graph.comm, graph.backend.xp
    heads = paths.position == 1
    lengths = xp.where(heads, paths.lengths, 0)
    # stall: the places of other ranks' paths depend on them
    own = (int(heads.sum()), int(lengths.sum()), int(lengths.max())) if lengths.size else (0, 0, 0)
    sums = comm.allgather(own)
    before = np.sum([(0, 0, 0), *sums[: comm.rank]], axis=0).tolist()
    # CuPy's `cumsum` needs an item.
    ends, numbers = map(xp.cumsum, (lengths, heads)) if lengths.size else (lengths, lengths)
    table = xp.stack([before[1] + ends - lengths, before[0] + numbers - 1], axis=1)
    starts, numbers = lookup(comm, graph.offsets, table, paths.path_id).T
    every = np.array(sums)
    return Places(
        starts, numbers, starts + paths.position - 1, int(every[:, 0].sum()), int(every[:, 2].max())
    )


def path_labels(graph: RankGraph, local: LocalPaths, ranked: Array) -> tuple[Array, Array, Array]:
    """Path ids, positions and lengths of the paths of own vertices, from the ranked states."""
    xp = graph.backend.xp
    path_id, position = graph.first + local.heads, local.position.copy()
    lengths = local.lengths.copy()
    vertices = local.members(np.ones(local.crossing.size, bool))
    both_sides = xp.asarray(ranked.reshape(-1, 2, 3))[local.numbers(vertices)]
    (first_count, last_count), (first_end, last_end) = both_sides[:, :, 1].T, both_sides[:, :, 2].T
    before = first_count - lengths[vertices]
    own = position[vertices]
    path_id[vertices] = xp.minimum(first_end, last_end)
    position[vertices] = xp.where(first_end < last_end, before + own, last_count - own + 1)
    lengths[vertices] = before + last_count
    return path_id, position, lengths
