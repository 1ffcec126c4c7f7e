"""OpenMP's spin count: threads spin briefly at the end of a parallel loop, then they sleep.

By default GNU OpenMP's threads spin for about a millisecond. On an oversubscribed machine a spinning thread
holds the core of the thread that it waits for.
"""

import contextlib
import os

import numba

# Rounds of the busy loop, some ten microseconds: two loops in succession do not put the threads to sleep.
SPIN_COUNT = 10_000
SETTINGS = "OMP_WAIT_POLICY", "GOMP_SPINCOUNT"
OTHER_LAYERS = "tbb", "workqueue"


def load_with_short_waits():
    """Load Numba's OpenMP layer with short waits, unless the user has set them; others take no notice.

    GNU OpenMP reads the environment when it is loaded, by this or by another library.
    """
    if numba.config.THREADING_LAYER in OTHER_LAYERS or any(name in os.environ for name in SETTINGS):
        return
    os.environ["GOMP_SPINCOUNT"] = str(SPIN_COUNT)
    try:
        with contextlib.suppress(ImportError):  # where Numba was built without it
            from numba.np.ufunc import omppool  # noqa: F401
    finally:
        del os.environ["GOMP_SPINCOUNT"]
