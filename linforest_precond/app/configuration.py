"""`show_config` prints versions, threads and usable backends."""

import importlib
import platform
from collections.abc import Callable
from typing import Any

import numba

from linforest_precond.backends import backend_named, cuda_status
from linforest_precond.backends.user_warnings import named_arguments


@named_arguments
def show_config() -> None:
    """Print versions, threads, cache folder, and which backends are usable and why not.

    Starts no threads, so that a later fork is safe.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> lf.show_config()  # doctest: +ELLIPSIS
    linforest_precond ...
    """
    rows = {**_versions(), **_cuda_versions(), **_numba_state(), **_backends()}
    width = max(map(len, rows))
    for name, text in rows.items():
        print(f"{name:<{width}}  {text}")


def _versions() -> dict[str, str]:
    return {
        "linforest_precond": _imported("linforest_precond"),
        "python": f"{platform.python_version()} ({platform.system()} {platform.machine()})",
        **{name: _imported(name) for name in ("numpy", "scipy", "numba", "cupy")},
    }


def _imported(name: str) -> str:
    try:
        return str(importlib.import_module(name).__version__)
    except Exception as error:  # broken wheels raise exceptions without a common base
        return f"does not import ({type(error).__name__})"


def _cuda_versions() -> dict[str, str]:
    """The versions of CUDA's runtime and driver; either may be missing."""
    try:
        from cupy.cuda import runtime
    except Exception:
        return {}
    return {
        "CUDA runtime": _cuda_version(runtime.runtimeGetVersion),
        "CUDA driver": _cuda_version(runtime.driverGetVersion),
    }


def _cuda_version(get_version: Callable[[], int]) -> str:
    try:
        number = get_version()
    except Exception as error:
        return f"not found ({type(error).__name__})"
    return f"{number // 1000}.{number % 1000 // 10}" if number else "not found"


def _numba_state() -> dict[str, str]:
    module: Any = numba
    try:
        layer, threads = module.threading_layer(), module.get_num_threads()
    except ValueError:  # nothing parallel has run; get_num_threads would start the threads
        layer = f"not started (setting: {module.config.THREADING_LAYER})"
        threads = module.config.NUMBA_NUM_THREADS
    return {
        "numba threads": str(threads),
        "numba threading layer": layer,
        "numba cache": backend_named("cpu").runtime.jit.cache_folder()
        or "none: no writable folder was found",
    }


def _backends() -> dict[str, str]:
    usable, reason = cuda_status()
    return {"backend cpu": "usable", "backend cuda": f"{'usable' if usable else 'not usable'}: {reason}"}
