"""Device memory: the peak of a call, and the traffic of a tridiagonal solve."""

from __future__ import annotations


def peak_bytes(call) -> int:
    """The most bytes allocated at once beyond those allocated before the call; its results count."""
    import cupy

    class Watch(_Balance, cupy.cuda.MemoryHook):
        name = "peak of linforest_precond's benchmarks"

    with Watch() as watch:
        answer = call()
    del answer
    return watch.peak


class _Balance:
    """Tracks allocations of CuPy's memory pool; memory allocated earlier does not count."""

    def __init__(self):
        self.held = {}
        self.used = self.peak = 0

    def malloc_postprocess(self, *, mem_size, mem_ptr, **_):
        self.held[mem_ptr] = mem_size
        self.used += mem_size
        self.peak = max(self.peak, self.used)

    def free_postprocess(self, *, mem_ptr, **_):
        self.used -= self.held.pop(mem_ptr, 0)


def matrix_bytes(A) -> int:
    return A.data.nbytes + A.indices.nbytes + A.indptr.nbytes


def held_words(rows, block) -> int:
    """The words of a tridiagonal system of `rows` block rows: its bands, right-hand side and solution."""
    return rows * (3 * block**2 + 2 * block)


def moved_words(rows, block, symmetric, tile, halo, passes=1) -> float:
    """The words that the sweeps of a tridiagonal solve read and write.

    A tile of `tile` block rows overlaps either neighbour by a halo of `halo` rows. Without halos, reduction
    passes (`passes` - 1 of them) compute what enters each tile; every pass reads the whole system.
    """
    read = (2 if symmetric else 3) * block**2 + block
    return rows * (passes * read * tile / (tile - 2 * halo) + block)
