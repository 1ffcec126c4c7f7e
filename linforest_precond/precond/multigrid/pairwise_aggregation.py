"""Aggregates for a hierarchy: pairs of strongly coupled unknowns, paired again."""

from __future__ import annotations

from linforest_precond.annotations import Array
from linforest_precond.backends import backend_of
from linforest_precond.gate import as_graph, checked_csr
from linforest_precond.graph.matching.matching import match_graph, tie_key_of
from linforest_precond.precond.multigrid.grid_transfer import Aggregates
from linforest_precond.records import CSR, Graph

WEIGHTS = "coupling", "magnitude"


def paired(
    csr: CSR, matchings: int, weights: str, strength: float, hermitian: bool, seed: int
) -> tuple[Aggregates, CSR]:
    """The aggregates of several matchings, and the matrix between them.

    An unknown that finds no partner waits for the next matching; after the last, it joins the aggregate
    that it is coupled to most strongly.
    """
    numbers, pairs = None, csr
    for left in reversed(range(matchings)):
        graph = pairing_graph(pairs, weights, strength)
        mate, _ = match_graph(graph, "suitor", seed=seed)
        if left:
            own, count = of_pairs(mate)
        else:
            own, count = backend_of(mate).matching.aggregates.of_mates(graph, mate, tie_key_of(seed))
        numbers = own if numbers is None else own[numbers]
        if left:
            pairs = Aggregates(own, count).coarse_csr(pairs, hermitian)
    aggregates = Aggregates(numbers, count)
    # From the finest matrix, so that all entries are added in its order.
    return aggregates, aggregates.coarse_csr(csr, hermitian)


def pairing_graph(csr: CSR, weights: str, strength: float) -> Graph:
    """The graph whose heavy edges are good pairs."""
    if weights == "magnitude":
        return as_graph(csr)
    values = backend_of(csr.data).multigrid.strength.weigh(csr, strength)
    return as_graph(checked_csr(csr.indptr, csr.indices, values))


def of_pairs(mate: Array) -> tuple[Array, int]:
    """An aggregate for every pair and every single unknown, numbered by their lowest ones; how many."""
    xp = backend_of(mate).xp
    unknowns = xp.arange(mate.size, dtype=mate.dtype)
    lowest = xp.where(mate < 0, unknowns, xp.minimum(unknowns, mate))
    numbers = xp.cumsum(lowest == unknowns, dtype=mate.dtype)
    return numbers[lowest] - mate.dtype.type(1), int(numbers[-1]) if mate.size else 0  # stall: how many
