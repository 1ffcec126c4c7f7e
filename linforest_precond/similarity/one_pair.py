"""`match_sets` returns the matching between two sets with weights, duals and certificate."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.optimize import linear_sum_assignment

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.arguments import as_choice, as_integer
from linforest_precond.backends.array_libraries import on_host
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.similarity.encoding import as_set, characters, distinct_grams, encode
from linforest_precond.similarity.join_records import SetMatching
from linforest_precond.similarity.options import (
    SIMILARITIES,
    as_epsilon,
    as_matching,
    backend_on,
)
from linforest_precond.similarity.pairs import SetPairs
from linforest_precond.similarity.verification import Weigher, matched


@named_arguments
def match_sets(
    set_r: Iterable[str],
    set_s: Iterable[str],
    *,
    q: int = 3,
    similarity: str = "jaccard",
    matching: str = "greedy",
    epsilon: float = 0.01,
    device: str | None = None,
) -> SetMatching:
    """The matching between the elements of two sets, their similarity, and a certificate.

    Parameters
    ----------
    set_r, set_s : sets of str
        Not empty.
    q, similarity, matching, epsilon, device
        As for `fuzzy_join`.

    Returns
    -------
    SetMatching
        Matched elements, weights, duals, similarity and its upper bound.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> found = lf.similarity.match_sets(["matching", "forest"], ["forests", "matchings", "graph"])
    >>> [(a, b) for a, b, _ in found.pairs]
    [('forest', 'forests'), ('matching', 'matchings')]
    >>> print(f"{found.similarity:.3f} {found.similarity_bound:.3f}")
    0.496 0.496
    """
    q, epsilon = as_integer("q", q, 1), as_epsilon(epsilon)
    similarity, matching = as_choice("similarity", similarity, SIMILARITIES), as_matching(matching, device)
    backend = backend_on(device)
    given = [as_set("set_r", set_r, similarity), as_set("set_s", set_s, similarity)]
    sets, strings = encode(given)
    symbols = distinct_grams(strings, q) if similarity == "jaccard" else characters(strings)
    pairs = SetPairs.of(np.array([0]), np.array([1]), sets.sizes)
    there = pairs.on(backend)
    weights = Weigher.on(backend, sets, symbols, similarity, ("set_r", "set_s").__getitem__)(there)
    block = on_host(weights).reshape(sets.sizes)  # stall: returned
    names = tuple(sorted(given[0])), tuple(sorted(given[1]))
    if matching == "exact":
        mates = _exact_mates(block)
        overlap = float(block[mates >= 0, mates[mates >= 0]].sum())
        return _record(names, block, mates, None, None, overlap, overlap)
    mates, *duals = matched(backend, matching, weights, there, epsilon)
    matchings = backend.similarity.set_matchings
    overlap = float(matchings.overlaps(weights, there, mates)[0])  # stall: returned
    limit = float(matchings.dual_bounds(weights, there, *duals)[0])  # stall: returned
    mates, left, right = (on_host(array) for array in (mates, *duals))  # stall: returned
    return _record(names, block, mates, left, right, overlap, max(overlap, limit))


def _exact_mates(block: Array) -> Array:
    mates = np.full(block.shape[0], -1, np.int32)
    rows, columns = linear_sum_assignment(block, maximize=True)
    mates[rows] = np.where(block[rows, columns] > 0.0, columns, -1)
    return mates


def _record(
    names: tuple[tuple[str, ...], tuple[str, ...]],
    block: Array,
    mates: Array,
    left_duals: Array | None,
    right_duals: Array | None,
    overlap: float,
    limit: float,
) -> SetMatching:
    total = sum(block.shape)
    found, most = (weight / (total - weight) for weight in (overlap, limit))
    return SetMatching(*names, block, mates, left_duals, right_duals, overlap, limit, found, most)
