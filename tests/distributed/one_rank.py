"""Answers over ranks against those of one rank: factors, forests, orders and bands, bit for bit."""

import numpy as np

import linforest_precond as lf
from linforest_precond import distributed
from linforest_precond.distributed import simulate

BANDS = "lower", "diagonal", "upper"


def same_bits(parts, whole):
    """Whether the ranks' arrays, one after another, have the values of an array; -0.0 differs from 0.0."""
    found = np.concatenate(parts)
    return np.array_equal(found, whole) and np.array_equal(np.signbit(found.real), np.signbit(whole.real))


def assert_factor(A, size, n=2, offsets=None, **options):
    """Assert that the factor over `size` ranks is that of one rank."""
    one = lf.graph.factor(A, n, **options)
    found = simulate(
        size, lambda comm: distributed.factor(distributed.scatter(A, comm, offsets), n, **options)
    )
    assert same_bits([part.neighbors for part in found], one.neighbors)
    assert same_bits([part.values for part in found], one.values)
    for part in found:
        assert (part.coverage, part.iterations, part.maximal) == (one.coverage, one.iterations, one.maximal)
        assert part.n_edges == int((one.neighbors >= 0).sum()) // 2


def assert_forest(A, size, offsets=None, **options):
    """Assert that forest, order and bands over `size` ranks are those of one rank."""
    one, bands = lf.pipeline.tridiagonal_bands(A, **options)

    def work(comm):
        own = distributed.scatter(A, comm, offsets)
        forest = distributed.linear_forest(own, **options)
        return forest, distributed.bands(own, forest)

    forests, their_bands = zip(*simulate(size, work))
    for name in ("neighbors", "values", "path_id", "position"):
        assert same_bits([getattr(forest, name) for forest in forests], getattr(one, name)), name
    assert_order([forest.order for forest in forests], one.order, one.position[one.order] == 1)
    for name in ("n_paths", "longest_path", "n_cycles_broken", "coverage", "iterations", "maximal"):
        assert {getattr(forest, name) for forest in forests} == {getattr(one, name)}, name
    assert {forest.identity_coverage for forest in forests} == {lf.graph.identity_coverage(A)}
    for name in BANDS:
        assert same_bits([getattr(band, name) for band in their_bands], getattr(bands, name)), name


def assert_block_forest(A, size, block_size=2, offsets=None, **options):
    """Assert that forest, order and bands of blocks over `size` ranks are those of one rank."""
    one, bands = lf.pipeline.block_tridiagonal_bands(A, block_size, **options)

    def work(comm):
        own = distributed.scatter(A, comm, offsets)
        forest = distributed.block_forest(own, block_size, **options)
        return forest, distributed.bands(own, forest)

    forests, their_bands = zip(*simulate(size, work))
    starts_path = one.forest.position[one.forest.order] == 1
    assert_order([forest.order for forest in forests], one.members, starts_path, block_size)
    for name in ("coverage", "m", "pairing", "n_paths", "longest_path", "n_blocks"):
        assert {getattr(forest, name) for forest in forests} == {getattr(one, name)}, name
    for name in BANDS:
        assert same_bits([getattr(band, name) for band in their_bands], getattr(bands, name)), name


def assert_order(orders, order, starts_path, block_size=1):
    """Assert that the ranks have equal stretches of an order, and the places of their rows."""
    assert same_bits([part.vertices for part in orders], order)
    assert same_bits([part.starts_path for part in orders], starts_path)
    places = np.concatenate([part.positions for part in orders])
    assert np.array_equal(order[places], np.arange(places.size))
    blocks = np.diff(orders[0].cuts) // block_size
    assert blocks.max() - blocks.min() <= 1
    assert [part.vertices.size for part in orders] == (blocks * block_size).tolist()
