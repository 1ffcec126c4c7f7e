"""Arrays of other libraries than NumPy and CuPy: how they are recognized, and the device they are on.

No library is imported here: an object of one can only exist where it has been imported already.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any

import numpy as np

# Device types of DLPack: CUDA memory, and CUDA managed memory.
_CUDA_DEVICES = 2, 13
_CUPY = {"cupy", "cupyx"}
_JAX_SPARSE = {"BCOO", "BCSR"}
# What `is_cupy` has found: it is asked many times in every setup.
_known: dict[type, bool] = {}


def is_cupy(kind: type) -> bool:
    """Whether a type is defined by CuPy, or derived from one that is."""
    found = _known.get(kind)
    if found is None:
        found = _known[kind] = not _CUPY.isdisjoint(_roots(kind))
    return found


def is_array(thing: object) -> bool:
    """Whether it is an array of NumPy or CuPy."""
    return isinstance(thing, np.ndarray) or hasattr(thing, "__cuda_array_interface__")


def is_torch(thing: object) -> bool:
    """Whether it is a tensor of torch, dense or sparse."""
    return "torch" in sys.modules and isinstance(thing, sys.modules["torch"].Tensor)


def is_traced(thing: object) -> bool:
    """Whether JAX traces it: it has a shape and a type, but no values."""
    array = thing.data if is_jax_sparse(thing) else thing  # type: ignore[attr-defined]
    return "jax" in sys.modules and isinstance(array, sys.modules["jax"].core.Tracer)


def is_jax_sparse(thing: object) -> bool:
    """Whether it is a BCOO or BCSR matrix of JAX."""
    return type(thing).__name__ in _JAX_SPARSE and "jax" in _roots(type(thing))


def is_foreign(thing: object) -> bool:
    """Whether it is an array, or a sparse matrix, of another library that exchanges arrays by DLPack."""
    if isinstance(thing, (np.ndarray, np.generic)) or is_cupy(type(thing)):
        return False
    return hasattr(type(thing), "__dlpack__") or is_jax_sparse(thing) or is_traced(thing)


def refuse_masked_or_ragged(name: str, array: object) -> None:
    """Raise a TypeError for a masked array, below whose mask kernels would read, and for ragged lists."""
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(
            f"{name} must not be a masked array, got one with {array.size - array.count()} masked entries; "
            f"{name}.filled(0) replaces them by zeros"
        )
    if isinstance(array, list | tuple) and _is_ragged(array):
        hint = f": pass scipy.sparse.csr_array({name}) for data, indices and indptr"
        raise TypeError(
            f"{name} must be an array of numbers, got a {type(array).__name__} of parts of different shapes"
            f"{hint if isinstance(array, tuple) and len(array) == 3 else ''}"
        )


def _is_ragged(parts: list[Any] | tuple[Any, ...]) -> bool:
    with contextlib.suppress(TypeError, RuntimeError):  # of arrays of another library
        try:
            np.asarray(parts)
        except ValueError:
            return True
    return False


def is_on_gpu(thing: Any) -> bool:
    """Whether a foreign array or sparse matrix is in the memory of a CUDA device."""
    array = thing.data if is_jax_sparse(thing) else thing
    return not is_traced(array) and int(array.__dlpack_device__()[0]) in _CUDA_DEVICES


def _roots(kind: type) -> set[str]:
    """The libraries that a type and its bases come from."""
    return {base.__module__.partition(".")[0] for base in kind.__mro__}


def on_host(array: Any) -> Any:
    """A NumPy array with the values of an array of CuPy; any other is returned as it is.

    On the GPU it waits for all work before it: callers say why with `# stall:`.
    """
    return array.get() if hasattr(array, "get") else array


def handed_out(array: Any) -> Any:
    """An array for users: a read-only view of NumPy's, and a copy of CuPy's, which have no such views."""
    if hasattr(array, "__cuda_array_interface__"):
        return array.copy()
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view


def address(array: Any) -> int:
    """Where the memory of an array of NumPy or CuPy begins."""
    return int(array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr)


def device_name(array: object) -> str:
    """The name of the backend that an array belongs to."""
    return "cuda" if is_cupy(type(array)) else "cpu"


def xp_of(array: Any) -> Any:
    """The library of an array: NumPy or CuPy."""
    return sys.modules["cupy"] if is_cupy(type(array)) else np
