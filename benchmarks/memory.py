"""Peak device memory of a call."""

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
