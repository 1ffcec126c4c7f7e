"""Pairs of sets as an argument of kernels."""

from ..runtime import Struct

PAIRS = Struct("PairArrays", "similarity/set_pairs.cuh")
# Lanes that work on one pair.
WARP = 32


def pair_arrays(pairs):
    """The arrays of pairs as a struct; the caller keeps `pairs` until the kernel is enqueued."""
    arrays = {name: getattr(pairs, name) for name in PAIRS.fields if name != "pairs"}
    return PAIRS(**arrays, pairs=pairs.starts.size)
