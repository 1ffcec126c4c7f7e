"""The type of an array selects its backend, once, in the public functions.

`linforest_precond.backends.cpu` and `linforest_precond.backends.cuda` offer the same functions under the
same names; the first works on NumPy arrays, the second on CuPy arrays.
"""

import functools
import importlib
import warnings
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from linforest_precond.backends.array_libraries import is_cupy, is_foreign, is_on_gpu
from linforest_precond.backends.rooms import Backend as Backend

# The backends of types whose arrays are all on one device: it is asked for many times in every setup.
_of_type: dict[type, Backend] = {}


def backend_of(array: object) -> Backend:
    """The backend module that works on an array or a sparse matrix.

    Types defined by CuPy, or derived from one, select the GPU, and so do arrays of other libraries on a CUDA
    device; all others the CPU. TypeError where the GPU is selected and not usable.

    Examples
    --------
    >>> import numpy as np
    >>> from linforest_precond.backends import backend_of
    >>> backend_of(np.eye(3)).__name__
    'linforest_precond.backends.cpu'
    """
    known = _of_type.get(type(array))
    if known is not None:
        return known
    if isinstance(array, OnBackend):
        return array.backend
    if type(array) is np.ndarray:
        return _of_type.setdefault(np.ndarray, _cpu())
    if not (is_cupy(type(array)) or (is_foreign(array) and is_on_gpu(array))):
        return _cpu()
    usable, reason = cuda_status()
    if not usable:
        kind = type(array)
        raise TypeError(
            f"got a {kind.__module__}.{kind.__qualname__}, but the GPU is not usable: {reason}; "
            "pass a NumPy array or a SciPy sparse matrix to work on the CPU"
        )
    if is_cupy(type(array)):
        return _of_type.setdefault(type(array), _cuda())
    return _cuda()


def backend_named(name: str) -> Backend:
    """The backend "cpu" or "cuda"; the GPU must be usable for the latter."""
    return _cuda() if name == "cuda" else _cpu()


def is_on(array: object, backend: Backend) -> bool:
    """Whether an array or sparse matrix belongs to a backend."""
    return backend_of(array) is backend


class OnBackend:
    """A record of arrays: it carries the backend that works on them."""

    @functools.cached_property
    def backend(self) -> Backend:
        """That of the first array, found once."""
        for value in tuple(vars(self).values()):  # another thread may add one
            if getattr(value, "shape", ()):
                return backend_of(value)
        raise TypeError(f"a {type(self).__name__} without arrays has no backend")

    def __getstate__(self) -> dict[str, Any]:
        """Pickles hold the fields: a module is in none."""
        return {name: value for name, value in vars(self).items() if name != "backend"}


@functools.cache
def _cuda() -> Backend:
    return cast(Backend, importlib.import_module(".cuda", __name__))


@functools.cache
def _cpu() -> Backend:
    """The CPU backend, whose compilations are watched from now on."""
    importlib.import_module(".compilation", __name__).watch_compilation()
    return cast(Backend, importlib.import_module(".cpu", __name__))


@functools.cache
def cuda_status() -> tuple[bool, str]:
    """Return whether the GPU is usable, and the reason in words.

    Usable means that CuPy imports, a device responds, and the CUDA libraries load and compile. Never raises,
    never prints; the result is cached for the process.

    Examples
    --------
    >>> from linforest_precond.backends import cuda_status
    >>> usable, reason = cuda_status()
    >>> isinstance(usable, bool) and len(reason) > 0
    True
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for check, failure in _CUDA_CHECKS:
            try:
                found = check()
            except Exception as error:  # broken drivers and wheels raise exceptions without a common base
                return False, f"{failure} ({_first_line(error)})"
    return True, str(found)


def require_device(
    device: str | None, option: str = 'device="cuda"', otherwise: str = 'device="cpu" works everywhere'
) -> None:
    """Raise before any work where the GPU is asked for and not usable."""
    usable, reason = cuda_status() if device == "cuda" else (True, "")
    if not usable:
        raise ValueError(f"{option} needs a usable GPU: {reason}; {otherwise}")


def _synchronize_device() -> None:
    import cupy

    if cupy.cuda.runtime.getDeviceCount() == 0:
        raise RuntimeError("the driver counts 0 devices")
    cupy.cuda.Device().synchronize()


def _run_kernel() -> str:
    """Compile and run a trivial kernel; return the name of the device."""
    import cupy

    code = 'extern "C" __global__ void answer(int* out) { *out = 42; }'
    out = cupy.zeros(1, dtype=cupy.int32)
    cupy.RawModule(code=code).get_function("answer")((1,), (1,), (out,))
    if out.item() != 42:  # stall: once per process
        raise RuntimeError("a kernel gave a wrong answer")
    device = cupy.cuda.Device()
    return str(cupy.cuda.runtime.getDeviceProperties(device.id)["name"].decode())


# The checks in their order, and the reason if one fails.
_CUDA_CHECKS: tuple[tuple[Callable[[], object], str], ...] = (
    (
        lambda: importlib.import_module("cupy"),
        "CuPy does not import: install linforest-precond[cuda13x] or [cuda12x]",
    ),
    (_synchronize_device, "no CUDA device answers"),
    (lambda: importlib.import_module("cupyx.scipy.sparse.linalg"), "the CUDA libraries do not load"),
    (_run_kernel, "a trivial CUDA kernel does not compile and run"),
)


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".strip().partition("\n")[0]
