"""Reference coarsening in plain Python: aggregates of matched pairs, and the Galerkin product."""

import numpy as np
import oracles


def aggregates_of(A, mate, seed):
    """Each vertex's aggregate: matched pairs and the single vertices that join them, by lowest vertex."""
    mate = list(mate)
    around = oracles.adjacency(oracles.graph_edges(A), A.shape[0])
    pair_of = [min(v, mate[v]) if mate[v] >= 0 else v for v in range(A.shape[0])]
    joined = list(pair_of)
    for v, neighbors in enumerate(around):
        paired = [w for w in neighbors if mate[w] >= 0]
        if mate[v] < 0 and paired:

            def order(w, v=v):
                ends = min(v, w), max(v, w)
                return -around[v][w], oracles.edge_hash(v, w, 0, seed), ends

            joined[v] = pair_of[min(paired, key=order)]
    numbers = {}
    return [numbers.setdefault(root, len(numbers)) for root in joined]


def coarse_entries(A, aggregates):
    """{(row, column): sum} over the entries between aggregates, in the order of (row, column)."""
    sums = {}
    found = oracles.entries(A)
    for row, column in sorted(found):
        place, value = (aggregates[row], aggregates[column]), found[row, column]
        with np.errstate(over="ignore", invalid="ignore"):
            sums[place] = sums[place] + value if place in sums else value
    return sums


def run_sum(values):
    """The sum of the sums of runs of 32 terms."""
    total = values.dtype.type(0)
    for begin in range(0, values.size, 32):
        run = values.dtype.type(0)
        for value in values[begin : begin + 32]:
            run = run + value
        total = total + run
    return total


def assert_is_coarse_matrix(indptr, indices, data, wanted, count):
    """CSR arrays with ascending columns that hold these sums, bit for bit."""
    assert indptr[0] == 0 and indptr.size == count + 1 and indptr[-1] == indices.size == data.size
    rows = np.repeat(np.arange(count), np.diff(indptr))
    assert list(zip(rows.tolist(), indices.tolist(), strict=True)) == sorted(wanted)
    expected = np.array([wanted[place] for place in sorted(wanted)], data.dtype)
    assert data.tobytes() == expected.tobytes()


def assert_are_aggregates(aggregates, count):
    """All numbers below the count occur, and first occur in ascending order."""
    _, first = np.unique(aggregates, return_index=True)
    assert first.size == count and (np.diff(first) > 0).all()
    assert np.array_equal(aggregates[first], np.arange(count))
