"""R-MAT graphs generated on the device, for sizes that would take minutes to generate on the host."""

from __future__ import annotations

import numpy as np

from linforest_precond.matrices.arrays import array_modules, csr
from linforest_precond.matrices.generators.random_graphs import GRAPH500


def rmat_on(device, scale, edges_per_vertex, seed=0):
    """A symmetric graph distributed as `lf.matrices.rmat`'s, from other random numbers; values are 1."""
    xp, sparse = array_modules(device)
    n, rng = 1 << scale, xp.random.default_rng(seed)
    source, target = draw_ends(xp, rng, scale, edges_per_vertex << scale)
    number = xp.argsort(xp.asarray(rng.random(n)))  # a random permutation of the vertices
    source, target = number[source], number[target]
    no_loop = source != target
    source, target = source[no_loop], target[no_loop]
    keys = xp.unique(xp.concatenate([source * n + target, target * n + source]))
    index = np.int32 if keys.size < 2**31 else np.int64
    indptr = xp.searchsorted(keys, xp.arange(n + 1) * n).astype(index)
    return csr(sparse, xp.ones(keys.size, np.float32), (keys % n).astype(index), indptr, n)


def draw_ends(xp, rng, scale, count):
    """Both ends of all edges: each bit pair is a random quadrant of the adjacency matrix."""
    left_above, above, left_below = np.cumsum(GRAPH500[:3]).tolist()
    source, target = xp.zeros(count, np.int32), xp.zeros(count, np.int32)
    for _ in range(scale):
        draw = xp.asarray(rng.random(count, dtype=np.float32))
        source *= 2
        source += draw >= above
        target *= 2
        target += (draw >= left_above) & (draw < above) | (draw >= left_below)
    return source, target
