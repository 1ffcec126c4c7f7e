"""One thread for BLAS and LAPACK: more of them would spin after each call, beside the threads of kernels."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# The number belongs to the process: another thread must not read the limit as the number to restore.
_LOCK = threading.RLock()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS and LAPACK to one thread.

    After a call, the threads of OpenBLAS wait actively for about 0.1 seconds. Kernels take twice as long,
    which is more than small dense matrices gain by several threads.
    """
    pools = _pools()
    if pools is None:
        yield
        return
    with _LOCK, pools.limit(limits=1, user_api="blas"):
        yield


@functools.cache
def _pools() -> Any:
    """The libraries that are loaded with SciPy's; None where the dependency is not installed."""
    import scipy.linalg  # noqa: F401

    try:
        from threadpoolctl import ThreadpoolController
    except ModuleNotFoundError:
        return None
    return ThreadpoolController()
