"""What work takes on this machine, the numbers of the chooser's cost model; the memory that is left."""

import os
import time
import timeit
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

# Floating-point operations of the factorization that is timed, of a 7-point grid with 12 vertices a side.
GRID_FLOPS = 2.68e8

# The numbers, as `measured` gives them, of two cores of an Arm Neoverse N1, where the rules were fitted.
DEFAULTS = (1.4e10, 6.4e-7, 4.7e9)
# Calls of an iteration of a Krylov method: of its own, and for each product with A.
CALLS, CALLS_OF_PRODUCT = 0, 140
# Seconds that the way to the host and back costs a direct factorization there.
CROSSING = 0.0


def measured():
    """Bytes a second of products, seconds of a call, flops a second of a factorization; and whether the
    machine was idle: with other work beside, the threads' processor time is less than the 0.3 seconds."""
    start, few = (time.perf_counter(), time.process_time()), np.zeros(8)
    calls = min(timeit.repeat(lambda: np.add(few, few, few), number=1000, repeat=10))
    line = sp.diags_array([-np.ones(11), 2 * np.ones(12), -np.ones(11)], offsets=[-1, 0, 1])
    grid = sp.kronsum(line, sp.kronsum(line, line), format="csc")
    factor = min(timeit.repeat(lambda: splu(grid, permc_spec="MMD_AT_PLUS_A"), number=1, repeat=4))
    numbers = _product_bandwidth(), calls / 1000, GRID_FLOPS / factor
    return numbers, time.process_time() - start[1] >= 0.95 * (time.perf_counter() - start[0])


def _product_bandwidth(rows=500_000):
    """Bytes a second of products with a band matrix that exceeds the caches, by two threads where there are.

    SciPy's product needs no compilation, and threads can call it at once. More than two gain less, the more
    the memory limits them.
    """
    threads = 1 if os.environ.get("NUMBA_NUM_THREADS") == "1" else min(2, os.cpu_count() or 1)
    columns = (np.arange(rows, dtype=np.int32)[:, None] + np.arange(5, dtype=np.int32)) % rows
    arrays = np.ones(5 * rows), columns.ravel(), np.arange(0, 5 * rows + 1, 5, dtype=np.int32)
    bands, x = sp.csr_matrix(arrays, shape=(rows, rows)), np.ones(rows)
    with ThreadPoolExecutor(threads) as pool:
        seconds = min(timeit.repeat(lambda: list(pool.map(bands.dot, [x] * threads)), number=1, repeat=20))
    moved = sum(array.nbytes for array in arrays) + 2 * x.nbytes
    return threads * moved / seconds


def device():
    """What tells this CPU from others: none but the machine."""
    return ""


def free_bytes():
    """The memory that can be allocated without swapping: Linux' estimate, elsewhere all of the machine's."""
    try:
        with open("/proc/meminfo") as lines:
            return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 2**63 - 1
