"""The order that ``linforest info`` names, and the cache model behind it."""

from collections import OrderedDict

import numpy as np
import pytest

import linforest_precond as lf
from linforest_precond.app.commands.advice import CANDIDATES, gather_misses, order_advice
from linforest_precond.backends.cpu.reordering.cache_model import PER_LINE, SETS, WAYS, missed_gathers


def misses_of(indices):
    """The same cache as dictionaries that remember the order of use."""
    sets, count = [OrderedDict() for _ in range(SETS)], 0
    for line in (indices // PER_LINE).tolist():
        ways = sets[line % SETS]
        count += line not in ways
        ways[line] = None
        ways.move_to_end(line)
        if len(ways) > WAYS:
            ways.popitem(last=False)
    return count


@pytest.mark.parametrize("spread", [10, 10**5, 10**6])
def test_cache_model(spread):
    indices = np.random.default_rng(0).integers(0, spread, 40_000)
    indices[::3] = np.arange(indices[::3].size)
    assert missed_gathers(indices.astype(np.int32)) == misses_of(indices)


@pytest.mark.parametrize(
    ("misses", "words"),
    [
        ({"natural": 0.025}, "The rows are in a good order"),
        ({"natural": 0.7, "rcm": 0.03, "matching": 0.04, "degree": 0.7}, 'lf.graph.order(A, "rcm")'),
        ({"natural": 0.7, "rcm": 0.6, "matching": 0.6, "degree": 0.3}, 'lf.graph.order(A, "degree")'),
        ({"natural": 0.7, "rcm": 0.6, "matching": 0.6, "degree": 0.5}, "No ordering would pay"),
        ({"natural": 0.7, "rcm": 0.8, "matching": 0.8, "degree": 0.9}, "No ordering would pay"),
    ],
)
def test_sentences(misses, words):
    assert words in order_advice(misses)


@pytest.mark.slow
def test_grids():
    A = lf.matrices.poisson((600, 600))
    assert list(gather_misses(A)) == ["natural"]
    shuffled = lf.permute(A, np.random.default_rng(0).permutation(A.shape[0]))
    misses = gather_misses(shuffled)
    assert set(misses) == {"natural", *CANDIDATES}
    assert misses["rcm"] < 0.1 * misses["natural"] and "lf.graph.order" in order_advice(misses)
