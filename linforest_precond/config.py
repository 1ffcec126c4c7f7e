"""Versions of this installation, the backends it can use, and compilation ahead of time."""

import importlib
import platform
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from linforest_precond import matrices, solvers
from linforest_precond.backends import backend_of, cuda_status
from linforest_precond.backends.cpu.runtime.jit import cache_folder, threads_for_small_arrays
from linforest_precond.graph.reordering.cuthill_mckee import reverse_cuthill_mckee
from linforest_precond.precond.approximate_inverse.operators import approximate_inverse
from linforest_precond.precond.ilu.incomplete_lu import ilu
from linforest_precond.precond.jacobi import jacobi
from linforest_precond.precond.tridiagonal.operators import block_tridiagonal, tridiagonal


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


def warmup(dtype: npt.DTypeLike = np.float64, index_dtype: npt.DTypeLike = np.int32) -> None:
    """Compile the kernels of preconditioners, solvers and reordering ahead of time, on every usable backend.

    On the CPU, those for small matrices, which use one thread, and those for large ones.

    Parameters
    ----------
    dtype : dtype
        float32, float64, complex64 or complex128.
    index_dtype : dtype
        int32 or int64.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> lf.warmup("float64")  # doctest: +SKIP
    """
    options: dict[str, Any] = {"dtype": dtype, "index_dtype": index_dtype}
    _call_everything("cpu", options)
    with threads_for_small_arrays():
        _call_everything("cpu", options)
    if cuda_status()[0]:
        _call_everything("cuda", options)


def _call_everything(device: str, options: dict[str, Any]) -> None:
    A = matrices.aniso(1, 8, device=device, **options)
    r = backend_of(A).xp.ones(A.shape[0], A.dtype)
    scaled = jacobi(A, scaling="matching")
    for M in (jacobi(A), scaled, tridiagonal(A), block_tridiagonal(A), approximate_inverse(A), ilu(A)):
        M @ r
    for solve in (
        solvers.cg,
        solvers.fcg,
        solvers.bicgstab,
        solvers.minres,
        solvers.fgmres,
        solvers.idrs,
    ):
        solve(A, r, M=M)
    reverse_cuthill_mckee(A)
    # The gate symmetrizes a nonsymmetric matrix, by kernels of its own.
    B = matrices.stencil(8, [1, 4, 2], device=device, **options)
    tridiagonal(B)
    # SPAI of a nonsymmetric matrix multiplies sparse matrices.
    approximate_inverse(B)


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
        "numba cache": cache_folder() or "none: no writable folder was found",
    }


def _backends() -> dict[str, str]:
    usable, reason = cuda_status()
    return {"backend cpu": "usable", "backend cuda": f"{'usable' if usable else 'not usable'}: {reason}"}
