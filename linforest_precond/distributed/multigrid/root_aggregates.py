"""Aggregates around the roots of MIS(2) over ranks: those of one rank."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.distributed.forest.graph import RankGraph, symmetrized
from linforest_precond.distributed.matching.aggregates import RankAggregates
from linforest_precond.distributed.multigrid.level_matrix import RankLevelMatrix
from linforest_precond.distributed.partition import host, readonly
from linforest_precond.distributed.partition.halo import Halo
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.matrix.conversion import index_dtype


class StrongCouplings(NamedTuple):
    """The strong couplings of the own rows, as a symmetric graph, see `StrongGraph`."""

    csr: CheckedMatrix  # the own rows, whose columns are those of `halo`
    halo: Halo  # of the neighbours of own unknowns, in the matrix or in the graph
    scales: Array  # of the couplings of the own rows
    indptr: Array  # of the graph, as are `columns` and `degrees`
    columns: Array
    degrees: Array
    least: Array  # of each row: the least magnitude that is strong, for the prolongator


def aggregate_roots(
    fine: RankLevelMatrix, strength: float, seed: int, signed: bool
) -> tuple[RankAggregates, Array]:
    """The aggregates, -1 for unknowns that have none, and what the prolongator needs: collective.

    An aggregate is owned by the rank of its root.
    """
    strong, kernels = strong_couplings(fine, strength, signed), host.multigrid.smoothed_aggregation
    halo, matrix = strong.halo, host.multigrid.strong_couplings.entries_of(strong.csr)
    degrees, scales = (readonly(halo.with_ghosts(each)) for each in (strong.degrees, strong.scales))
    roots = distance_2_set(strong, seed)
    kernels.mark_roots(*matrix, scales, signed, degrees, roots)
    offsets, numbers = fine.comm.numbered(roots)
    numbers = np.where(roots, numbers, kernels.NO_AGGREGATE).astype(index_dtype(fine.n))
    near = numbers.copy()
    kernels.join_roots(*map(readonly, (strong.indptr, strong.columns, halo.with_ghosts(numbers))), near)
    # Ghosts have empty rows: their numbers are fetched, not computed here.
    indptr = np.append(strong.indptr, np.full(halo.ghosts.size, strong.columns.size, strong.indptr.dtype))
    pattern = readonly(indptr), readonly(strong.columns), degrees
    for _ in range(2):
        kernels.join_neighbors(*matrix, scales, signed, *pattern, readonly(halo.with_ghosts(near)), numbers)
        near = numbers.copy()
    return RankAggregates(numbers.astype(np.int64), offsets), strong.least


def strong_couplings(fine: RankLevelMatrix, strength: float, signed: bool) -> StrongCouplings:
    """The strong couplings; where their mirror images may not be strong, too, these are added."""
    csr, halo, kernels = fine.csr, fine.A.halo, host.multigrid.strong_couplings
    matrix = kernels.entries_of(csr)
    scales, strongest, least = (np.empty(csr.n) for _ in range(3))
    kernels.scale_rows(*matrix[:3], *matrix[4:], signed, scales)
    scaled = readonly(halo.with_ghosts(scales))
    kernels.find_strongest(*matrix[:4], scaled, signed, strongest)
    columns, degrees = np.empty(csr.nnz, np.int32), np.empty(csr.n, np.int32)
    couplings = *matrix, scaled, readonly(halo.with_ghosts(strongest)), signed
    kernels.find_strong(*couplings, float(strength), columns, degrees, least)
    found = StrongCouplings(csr, halo, scales, csr.indptr, columns, degrees, least)
    # Strengths of a Hermitian matrix are symmetric if its diagonal has one sign.
    is_symmetric = fine.hermitian and (not signed or fine.has_one_sign())
    return found if is_symmetric else with_mirrors(fine, found)


def with_mirrors(fine: RankLevelMatrix, strong: StrongCouplings) -> StrongCouplings:
    """The union of the graph and its mirror image."""
    A, csr = fine.A, strong.csr
    rows = np.repeat(np.arange(csr.n), np.diff(csr.indptr))
    marks = (strong.columns != rows).astype(np.float32)
    graph = symmetrized(RankGraph(A.comm, A.offsets, csr.indptr, csr.indices, marks, A.halo))
    columns, degrees = np.empty(graph.columns.size, np.int32), np.empty(csr.n, np.int32)
    arrays = map(readonly, (graph.indptr, graph.columns, graph.values))
    host.multigrid.strong_couplings.mask_columns(*arrays, columns, degrees)
    numbers = graph.halo.local(A.columns).astype(csr.indices.dtype)
    return strong._replace(
        csr=replace(csr, indices=numbers[csr.indices]), halo=graph.halo,
        indptr=graph.indptr, columns=columns, degrees=degrees,
    )  # fmt: skip


def distance_2_set(strong: StrongCouplings, seed: int) -> Array:
    """1 for the own vertices of the greedy set of vertices more than two steps apart, 0 for others: MIS(2).

    The set of a fixed order is unique. Each rank selects, in this order, the vertices that no undecided one
    of another rank precedes within two steps. Then ranks exchange what they know of the vertices at their
    boundaries: a round takes three messages to each neighbouring rank.
    """
    halo, own = strong.halo, strong.degrees.size
    kernels, hashing = host.csgraph.independent_set, host.runtime.hashing
    keys = hashing.order_keys(hashing.bit_lengths(strong.degrees), seed, halo.first)
    pattern = readonly(strong.indptr), readonly(strong.columns)
    ghost_columns = np.append(0, np.cumsum(strong.columns >= own))[strong.indptr]
    boundary = np.flatnonzero(np.diff(ghost_columns))
    order, members = hashing.indices_in(np.sort(keys)) - np.int32(halo.first), np.zeros(own, np.int32)
    states, lowest = halo.with_ghosts(keys), np.empty(own + halo.ghosts.size, np.uint64)
    while True:
        of_all, of_ghosts = np.empty((2, boundary.size), np.uint64)
        kernels.lowest_keys(*pattern, boundary, readonly(states), own, of_all, of_ghosts)
        lowest[:own] = kernels.EXCLUDED_KEY
        lowest[boundary] = of_all
        lowest[own:] = halo.fetch(lowest[:own])
        lowest[boundary] = of_ghosts
        order = order[: kernels.select_known(*pattern, order, states, lowest, members)]
        if not halo.comm.total(order.size):
            return members
        marked = np.where(states[own:] == kernels.NEAR, kernels.NEAR, kernels.EXCLUDED_KEY)
        halo.send_back(marked, "min", into=states[:own])
        states[own:] = halo.fetch(states[:own])
