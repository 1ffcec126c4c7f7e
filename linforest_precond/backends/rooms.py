"""The rooms of a backend: the same modules and functions on the CPU and on the GPU.

A module is found without being listed. The modules of the CPU backend define what both offer; a test compares
the functions of the CUDA backend with them, and both with the calls of the code above.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, Protocol


class Backend(Protocol):
    """A backend module, `linforest_precond.backends.cpu` or `linforest_precond.backends.cuda`."""

    name: str
    converter: str  # the function by which users convert an array of the other backend
    linear_operators: str  # the module of the class LinearOperator
    maps_files: bool  # the arrays of a matrix may be memory-mapped files
    max_rows: int  # of a matrix
    checks_shared_arrays: bool  # by the kernels that may read the user's own indices and weights
    xp: Any  # NumPy or CuPy
    sparse: Any  # `scipy.sparse` or `cupyx.scipy.sparse`
    prefetch: Callable[..., None]  # begins to compile the programs of a public call, by its name and facts

    runtime: ModuleType
    matrix: ModuleType
    forest: ModuleType
    matching: ModuleType
    csgraph: ModuleType
    reordering: ModuleType
    tridiagonal: ModuleType
    ilu: ModuleType
    approximate_inverse: ModuleType
    direct: ModuleType
    multigrid: ModuleType
    krylov: ModuleType
    similarity: ModuleType


def import_rooms(backend: str, folders: Iterable[str]) -> None:
    """Import every module in the folders of a backend."""
    for module in pkgutil.walk_packages(folders, f"{backend}."):
        importlib.import_module(module.name)
