"""Coverages of factors, forests and blocks: tables 4 and 5 of the paper."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from linforest_precond.backends.annotations import Array, SparseMatrix
from linforest_precond.graph.forest.bands import identity_coverage
from linforest_precond.graph.forest.factor import GREEDY_TIES, check_options, greedy_factor, propose_factor
from linforest_precond.graph.forest.linear_forest import linear_forest
from linforest_precond.graph.forest.pairs import block_forest, check_block_options
from linforest_precond.matrix.checked import CheckedMatrix, checked
from linforest_precond.matrix.graphs import Graph
from linforest_precond.study.results import JsonObject

# The charging configurations of table 4: (m, k_m).
CONFIGURATIONS = ((1, 0), (5, 0), (5, 1))
DEGREES = (1, 2, 3, 4)
# The charging periods m of the blocks, and the iterations M of Algorithm 2.
BLOCK_PERIODS = (1, 5)
ITERATIONS = 5
# Tie-breaking rules: those that are measured, and those that give the published values.
RULES = ("index", "random", "auto")
PARALLEL_RULE, SEQUENTIAL_RULE = "index", "random"
# The hashes of charges, the paper's first, and the seeds over which coverages are averaged.
CHARGES = ("md5", "splitmix64")
SEEDS = range(3)


def coverages(
    A: SparseMatrix, *, charge: str = "md5", ties: str = PARALLEL_RULE, rounded_sums: bool = False
) -> JsonObject:
    """The coverages of a matrix: shares of its off-diagonal weight, the sum of |a_ij| with i ≠ j.

    `ties` is the order among equal weights of the parallel algorithm that is compared with the published
    values. The sequential algorithm meets these with ties at random: by index, it pairs the strong couplings
    along a grid line perfectly, and ANISO1 has 0.33 for n = 1 instead of the published 0.29. `rounded_sums`
    adds up the weights in single precision, too.
    """
    csr = checked(A)
    graph = checked(csr).graph
    rules = {rule: _by_rule(csr, graph, charge, rule) for rule in RULES}
    return {
        "identity": identity_coverage(csr),
        "forest": linear_forest(_factor(graph, 2, iterations="auto")).coverage,
        "charge": charge,
        "ties": {"parallel": ties, "sequential": SEQUENTIAL_RULE},
        **{key: rules[ties][key] for key in ("configurations", "parallel", "block")},
        "sequential": rules[SEQUENTIAL_RULE]["sequential"],
        "rules": rules,
        "charges": {each: _by_seed(graph, each, ties) for each in CHARGES},
        "single_precision": single_precision(csr) if rounded_sums else None,
    }


def _by_rule(csr: CheckedMatrix, graph: Graph, charge: str, ties: str) -> JsonObject:
    """All coverages with one order among equal weights; the sequential algorithm has no "auto"."""
    options = {"charge": charge, "ties": ties}
    greedy = partial(greedy_factor, csr, ties=ties)
    return {
        "configurations": [_configuration(graph, m=m, k_m=k_m, **options) for m, k_m in CONFIGURATIONS],
        "parallel": {str(n): _factor(graph, n, **options).coverage for n in DEGREES},
        "sequential": {str(n): greedy(n).coverage for n in DEGREES} if ties in GREEDY_TIES else None,
        "block": {str(m): _block_coverage(graph, m, **options) for m in BLOCK_PERIODS},
    }


def _factor(graph: Graph, n: int, **options: Any) -> Any:
    return propose_factor(graph, check_options(n, **{"iterations": ITERATIONS} | options))


def _configuration(graph: Graph, **options: Any) -> JsonObject:
    """One configuration of table 4: the factor after five iterations, and the maximal factor."""
    maximal = _factor(graph, 2, iterations=None, **options)
    return {
        "m": options["m"],
        "k_m": options["k_m"],
        "c5": _factor(graph, 2, **options).coverage,
        "cmax": maximal.coverage,
        "iterations_max": maximal.iterations,
    }


def _block_coverage(graph: Graph, m: int, **options: Any) -> float:
    (checked,) = check_block_options(2, m, ITERATIONS, **options)
    return block_forest(graph, checked).coverage


def _by_seed(graph: Graph, charge: str, ties: str) -> dict[str, list[float]]:
    """The coverages of the parallel factors by n, one for each seed."""
    factor = partial(_factor, graph, charge=charge, ties=ties)
    return {str(n): [factor(n, seed=seed).coverage for seed in SEEDS] for n in DEGREES}


# Numbers of float32 accumulators.
PARTS = (1, 2, 4, 8, 64)


def single_precision(csr: CheckedMatrix) -> list[JsonObject]:
    """c_id by running sums in single precision, for several numbers of partial sums.

    A running sum beyond 2^22 loses weights of 0.2, and one beyond 2^24 those of 1. ``scale`` is the exact sum
    of all off-diagonal weights over the rounded one.
    """
    backend = csr.backend
    distance = backend.matrix.entries.rows_of(csr.indptr, csr.nnz) - csr.indices
    weights = abs(csr.data)
    near = _host(backend.xp, weights[abs(distance) == 1])
    others = _host(backend.xp, weights[distance != 0])
    exact = float(others.sum(dtype=np.float64))
    return [_rounded(near, others, exact, parts) for parts in PARTS]


def _host(xp: Any, weights: Array) -> Any:
    weights = weights.astype(np.float32)
    return weights if xp is np else xp.asnumpy(weights)


def _rounded(near: Any, others: Any, exact: float, parts: int) -> JsonObject:
    total = running_sum(others, parts)
    return {
        "parts": parts,
        "identity": running_sum(near, parts) / total if total else 0.0,
        "scale": exact / total if total else 1.0,
    }


def running_sum(weights: Any, parts: int) -> float:
    """The sum of float32 numbers by `parts` accumulators, one for each contiguous part."""
    padded = np.zeros(-(-max(weights.size, 1) // parts) * parts, np.float32)
    padded[: weights.size] = weights
    sums = np.add.accumulate(padded.reshape(parts, -1), axis=1, dtype=np.float32)[:, -1]
    return float(sums.sum(dtype=np.float64))
