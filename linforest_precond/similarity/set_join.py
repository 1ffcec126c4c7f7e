"""The fuzzy set similarity join: filter, then verify."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.arguments import as_choice, as_integer
from linforest_precond.backends.array_libraries import on_host
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.records.progress import Progress, showing
from linforest_precond.similarity.candidates import Index, Sides, in_units, required_overlap
from linforest_precond.similarity.encoding import Sets, Strings, Symbols, as_sets, characters, encode
from linforest_precond.similarity.join_records import JoinResult
from linforest_precond.similarity.options import (
    BOUNDS,
    SIMILARITIES,
    as_epsilon,
    as_matching,
    as_threshold,
    backend_on,
)
from linforest_precond.similarity.pairs import on_device
from linforest_precond.similarity.token_sets import TokenSets, edit_tokens, jaccard_tokens
from linforest_precond.similarity.verification import Verified, Verifier, Weigher

clock = time.perf_counter


@named_arguments
def fuzzy_join(
    sets_r: Iterable[Iterable[str]],
    sets_s: Iterable[Iterable[str]] | None = None,
    *,
    threshold: float = 0.7,
    q: int = 3,
    similarity: str = "jaccard",
    matching: str = "greedy",
    bound: str = "matching",
    epsilon: float = 0.01,
    device: str | None = None,
    progress: bool = False,
) -> JoinResult:
    """Pairs of sets of strings whose fuzzy Jaccard similarity reaches a threshold.

    The elements of two sets R and S form a complete bipartite graph, weighted by their similarities. With the
    weight O of a matching in it, their similarity is ``O / (|R| + |S| - O)`` (Wang, Li and Feng 2014).
    Pairs are filtered by the q-grams they have in common, without losing any that is similar; the others are
    verified by a matching, exact or approximate (Mandulak et al., ApproxJoin, arXiv:2507.18891).

    Parameters
    ----------
    sets_r : iterable of sets of str
        The sets, none of them empty. Equal elements of a set count once.
    sets_s : iterable of sets of str, optional
        The sets to join with; by default `sets_r` itself, where each pair is found once, as ``left < right``.
    threshold : float
        The least similarity, in (0, 1]. A relative error of 1e-12 is allowed, so that rounding loses no pair.
    q : int
        Length of the tokens of an element. A shorter element is its own only token. With
        ``similarity="edit"``, tokens only filter, by the best length up to `q`.
    similarity : {"jaccard", "edit"}
        Of elements: common tokens by all tokens of both, or 1 - (edit distance) / (length of the longer one).
        Elements have at most 2**24 characters with "jaccard", and 2**15 with "edit".
    matching : {"greedy", "locally_dominant", "paz_schwartzman", "exact"}
        The first two find the same matching; theirs weighs at least half of the heaviest, that of
        Paz and Schwartzman at least 1 / (2 + epsilon). "exact" is SciPy's `linear_sum_assignment`.
    bound : {"matching", "upper"}
        What must reach the threshold: the weight of the matching, which no dissimilar pair does, or the upper
        bound from its duals, which every similar pair does.
    epsilon : float
        Of ``matching="paz_schwartzman"``: larger values store fewer edges.
    device : {None, "cpu", "cuda"}
        Where candidates are verified. Both find the same pairs, with the same bits.
    progress : bool
        Show a progress bar on the standard error output.

    Returns
    -------
    JoinResult
        The pairs, their similarities, and upper bounds as certificates.

    Raises
    ------
    ValueError
        For empty sets, those of more than 2**15 elements, and elements that are too long.
    MemoryError
        If the weights between the elements of two sets do not fit into the free memory.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> found = lf.similarity.fuzzy_join([
    ...     ["linear forest", "preconditioner", "graphics card"],
    ...     ["sparse matrix", "traffic"],
    ...     ["linear forests", "preconditioners", "graphics cards"],
    ... ])
    >>> found.pairs
    [(0, 2)]
    >>> print(f"{found.similarity[0]:.3f}")
    0.850
    """
    threshold, q, epsilon = as_threshold(threshold), as_integer("q", q, 1), as_epsilon(epsilon)
    similarity = as_choice("similarity", similarity, SIMILARITIES)
    matching, bound = as_matching(matching, device), as_choice("bound", bound, BOUNDS)
    backend = backend_on(device)
    given = as_sets("sets_r", sets_r, similarity)
    lefts = None if sets_s is None else len(given)
    given += [] if sets_s is None else as_sets("sets_s", sets_s, similarity)
    begun = clock()
    sets, strings = encode(given)
    index, token_sets, symbols = _index(sets, strings, Sides.of(sets.sizes, lefts), similarity, q, threshold)
    weigher = Weigher.on(backend, sets, symbols, similarity, partial(_name_of, lefts))
    verifier = Verifier(weigher, sets.sizes, threshold, matching, bound, epsilon)
    join = _Join(index, on_device(token_sets, backend), token_sets.totals, verifier, backend)
    join.filter_seconds = clock() - begun
    with showing(index.work.size, progress, "join", "set") as bar:
        return join.result(list(join.verified(bar)), lefts or 0)


def _name_of(lefts: int | None, number: int) -> str:
    """The argument that a set comes from."""
    return f"sets_r[{number}]" if lefts is None or number < lefts else f"sets_s[{number - lefts}]"


def _index(
    sets: Sets, strings: Strings, sides: Sides, similarity: str, q: int, threshold: float
) -> tuple[Index, TokenSets, Symbols]:
    """The index of the prefixes, the tokens of the sets, and what the elements are compared by."""
    if similarity == "jaccard":
        token_sets, symbols = jaccard_tokens(sets, strings, q)
        return Index(token_sets, sets.sizes, sides, threshold), token_sets, symbols
    # Long grams are rare, but an edit changes many: the length with the fewest products is taken.
    lengths = range(1, min(q, max(int(strings.lengths.max(initial=0)), 1)) + 1)
    all_tokens = [edit_tokens(sets, strings, length) for length in lengths]
    indices = [Index(tokens, sets.sizes, sides, threshold) for tokens in all_tokens]
    best = min(range(len(indices)), key=lambda place: int(indices[place].work.sum()))
    return indices[best], all_tokens[best], characters(strings)


class _Join:
    """A join under way: chunks of candidates are filtered and verified one after the other."""

    def __init__(
        self, index: Index, token_sets: TokenSets, totals: Array, verifier: Verifier, backend: Backend
    ):
        self.index, self.token_sets, self.totals = index, token_sets, totals
        self.verifier, self.backend = verifier, backend
        self.candidates = self.kept = 0
        self.filter_seconds = self.verify_seconds = 0.0

    def verified(self, bar: Progress) -> Iterator[Verified]:
        """The pairs of full batches, and at the end those of the last one."""
        waiting: list[tuple[Array, Array]] = []
        cells, sizes = 0, self.index.sizes
        for begin, end in self.index.chunks():
            with self._timing("filter_seconds"):
                lefts, rights = self._filtered(*self.index.pairs(begin, end))
            waiting.append((lefts, rights))
            cells += int(sizes[lefts] @ sizes[rights])
            if cells >= self.verifier.cells or end == self.index.work.size:
                yield from self._verified(waiting)
                waiting, cells = [], 0
            bar.advance(end - begin)

    def _verified(self, waiting: list[tuple[Array, Array]]) -> list[Verified]:
        with self._timing("verify_seconds"):
            lefts, rights = (np.concatenate(side) for side in zip(*waiting))
            return list(self.verifier(lefts, rights))

    def _filtered(self, lefts: Array, rights: Array) -> tuple[Array, Array]:
        """The candidates whose common tokens allow the required overlap."""
        sizes = self.index.sizes
        needed = in_units(required_overlap(self.index.threshold, sizes[lefts] + sizes[rights]))
        arrays = lefts, rights, self.totals[lefts] - needed, self.totals[rights] - needed
        there = (self.backend.xp.asarray(array) for array in arrays)
        kept = self.backend.similarity.set_pairs.shares_enough(self.token_sets, *there)
        kept = on_host(self.backend.xp.flatnonzero(kept))  # stall: chooses the pairs that are verified
        self.candidates += lefts.size
        self.kept += kept.size
        return lefts[kept], rights[kept]

    @contextlib.contextmanager
    def _timing(self, name: str) -> Iterator[None]:
        begun = clock()
        yield
        setattr(self, name, getattr(self, name) + clock() - begun)

    def result(self, parts: list[Verified], shift: int) -> JoinResult:
        """All pairs in the order of their numbers; the sets on the right are numbered from 0."""
        lefts, rights, overlaps, bounds = _concatenated(parts)
        if self.index.sides.itself:
            lefts, rights = np.minimum(lefts, rights), np.maximum(lefts, rights)
        order = np.lexsort((rights, lefts))
        lefts, rights, overlaps, bounds = (each[order] for each in (lefts, rights, overlaps, bounds))
        sizes = self.index.sizes[lefts] + self.index.sizes[rights]
        return JoinResult(
            lefts,
            rights - shift,
            overlaps,
            bounds,
            overlaps / (sizes - overlaps),
            bounds / (sizes - bounds),
            self._compared(),
            self.candidates,
            self.kept,
            self.filter_seconds,
            self.verify_seconds,
        )

    def _compared(self) -> int:
        lefts, rights = self.index.sides.lefts.size, self.index.sides.rights.size
        return lefts * (lefts - 1) // 2 if self.index.sides.itself else lefts * rights


def _concatenated(parts: list[Verified]) -> tuple[Any, ...]:
    none = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0)
    return tuple(np.concatenate(arrays) for arrays in zip(none, *parts))
