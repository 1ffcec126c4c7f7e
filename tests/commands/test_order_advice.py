"""The order that ``linforest info`` names."""

import numpy as np
import pytest

import linforest_precond as lf
from linforest_precond.commands.order_advice import CANDIDATES, log_gaps, order_advice


def gaps(natural, **others):
    return {"natural": natural, **dict.fromkeys(CANDIDATES, 9.0), **others}


@pytest.mark.parametrize(
    ("rows", "found", "words"),
    [
        (10**6, gaps(1.2, rcm=1.1), "no other would pay"),
        (10**6, gaps(8.0, rcm=1.1, matching=1.0), 'lf.graph.order(A, "matching")'),
        (10**6, gaps(8.0, degree=3.0), 'lf.graph.order(A, "degree")'),
        (10**4, gaps(8.0, rcm=1.1), '"rcm" is better (log gap 1.10 per entry instead of 8.00), but'),
        (3, gaps(0.0, rcm=0.0), "no other would pay"),
    ],
)
def test_sentences(rows, found, words):
    assert words in order_advice(rows, found)


def test_shuffled_grid():
    A = lf.matrices.poisson((40, 40))
    shuffled = lf.permute(A, np.random.default_rng(0).permutation(1600))
    found = log_gaps(shuffled)
    assert set(found) == {"natural", *CANDIDATES}
    assert found["natural"] == pytest.approx(lf.graph.log_gap(shuffled) / shuffled.nnz)
    assert min(found, key=found.get) in ("rcm", "matching")
