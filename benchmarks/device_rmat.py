"""R-MAT graphs drawn where they are used, in sizes that would take minutes to draw and to bring over."""

from __future__ import annotations

import numpy as np

from linforest_precond.matrices.arrays import array_modules, csr
from linforest_precond.matrices.random_graphs import GRAPH500


def rmat_on(device, scale, edges_per_vertex, seed=0):
    """A graph of the kind that `lf.matrices.rmat` draws, from other random numbers; all values are 1."""
    xp, sparse = array_modules(device)
    n, rng = 1 << scale, xp.random.default_rng(seed)
    source, target = draw_ends(xp, rng, scale, edges_per_vertex << scale)
    number = xp.argsort(xp.asarray(rng.random(n)))  # vertices are numbered at random
    source, target = number[source], number[target]
    other = source != target
    source, target = source[other], target[other]
    keys = xp.unique(xp.concatenate([source * n + target, target * n + source]))
    index = np.int32 if keys.size < 2**31 else np.int64
    indptr = xp.searchsorted(keys, xp.arange(n + 1) * n).astype(index)
    return csr(sparse, xp.ones(keys.size, np.float32), (keys % n).astype(index), indptr, n)


def draw_ends(xp, rng, scale, count):
    """Both ends of edges, one bit of each at a time from the quarter that is drawn."""
    left_above, above, left_below = np.cumsum(GRAPH500[:3]).tolist()
    source, target = xp.zeros(count, np.int32), xp.zeros(count, np.int32)
    for _ in range(scale):
        draw = xp.asarray(rng.random(count, dtype=np.float32))
        source *= 2
        source += draw >= above
        target *= 2
        target += (draw >= left_above) & (draw < above) | (draw >= left_below)
    return source, target
