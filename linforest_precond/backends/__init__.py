"""The array chooses its backend, once, at the face.

`linforest_precond.backends.cpu` and `linforest_precond.backends.cuda` offer the same functions under the
same names; the first works on NumPy arrays, the second on CuPy arrays.
"""

import functools
import importlib
import warnings
from typing import cast

from linforest_precond.backends.protocol import Backend as Backend

_CUDA_ROOTS = {"cupy", "cupyx"}


def backend_of(array: object) -> Backend:
    """Return the backend module that works on `array`.

    Parameters
    ----------
    array : array or sparse matrix
        Anything defined by CuPy (or derived from it) belongs to the GPU, everything else to the CPU.

    Returns
    -------
    module
        `linforest_precond.backends.cpu` or `linforest_precond.backends.cuda`.

    Raises
    ------
    TypeError
        If `array` is a CuPy object and no GPU is usable.

    Examples
    --------
    >>> import numpy as np
    >>> from linforest_precond.backends import backend_of
    >>> backend_of(np.eye(3)).__name__
    'linforest_precond.backends.cpu'
    """
    if not _is_cupy(type(array)):
        return cast(Backend, importlib.import_module(".cpu", __name__))
    usable, reason = cuda_status()
    if not usable:
        kind = type(array)
        raise TypeError(
            f"got a {kind.__module__}.{kind.__qualname__}, but the GPU is not usable: {reason}; "
            "pass a NumPy array or a SciPy sparse matrix to work on the CPU"
        )
    return cast(Backend, importlib.import_module(".cuda", __name__))


def _is_cupy(kind):
    return any(base.__module__.partition(".")[0] in _CUDA_ROOTS for base in kind.__mro__)


@functools.cache
def cuda_status() -> tuple[bool, str]:
    """Return whether the GPU is usable, and the reason in words.

    Usable means that CuPy imports, a device answers, and the CUDA libraries load and compile. Never raises,
    never prints; the answer is found once per process.

    Examples
    --------
    >>> from linforest_precond.backends import cuda_status
    >>> usable, reason = cuda_status()
    >>> isinstance(usable, bool) and len(reason) > 0
    True
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for attempt, failure in _CUDA_ATTEMPTS:
            try:
                answer = attempt()
            except Exception as error:  # a broken driver or wheel fails in ways that have no common type
                return False, f"{failure} ({_first_line(error)})"
    return True, answer


def _import_cupy():
    importlib.import_module("cupy")


def _ask_device():
    import cupy

    if cupy.cuda.runtime.getDeviceCount() == 0:
        raise RuntimeError("the driver counts 0 devices")
    cupy.cuda.Device().synchronize()


def _load_libraries():
    importlib.import_module("cupyx.scipy.sparse.linalg")


def _run_kernel():
    import cupy

    code = 'extern "C" __global__ void answer(int* out) { *out = 42; }'
    out = cupy.zeros(1, dtype=cupy.int32)
    cupy.RawModule(code=code).get_function("answer")((1,), (1,), (out,))
    if out.item() != 42:  # stall: the one question asked per process
        raise RuntimeError("a kernel gave a wrong answer")
    device = cupy.cuda.Device()
    return cupy.cuda.runtime.getDeviceProperties(device.id)["name"].decode()


# What is tried, in this order, and what it means when it fails.
_CUDA_ATTEMPTS = (
    (_import_cupy, "CuPy does not import: install linforest-precond[cuda13x] or [cuda12x]"),
    (_ask_device, "no CUDA device answers"),
    (_load_libraries, "the CUDA libraries do not load"),
    (_run_kernel, "a trivial CUDA kernel does not compile and run"),
)


def _first_line(error):
    return f"{type(error).__name__}: {error}".strip().partition("\n")[0]
