"""Preconditioners as files and as pickles: arrays on the host and a header of plain values."""

from __future__ import annotations

import contextlib
import json
import os
import warnings
import zipfile
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from linforest_precond.backends import cpu as cpu_backend
from linforest_precond.backends import cuda_status
from linforest_precond.precond.jacobi import JacobiPart
from linforest_precond.precond.multigrid.coarsest import Coarsest
from linforest_precond.precond.multigrid.multilevel import MultilevelPart
from linforest_precond.precond.multigrid.prolongation import Rectangle
from linforest_precond.precond.operators import Preconditioner, Setup, operator_of
from linforest_precond.precond.pattern_digest import Pattern
from linforest_precond.precond.tridiagonal.operators import TridiagonalPart
from linforest_precond.records import CSR, Bands, BlockForest, Forest, Ordering
from linforest_precond.user_warnings import tell

FORMAT = "linforest_precond preconditioner"
VERSION = 1
HEADER = "header"

PARTS = {
    "tridiagonal": TridiagonalPart,
    "block_tridiagonal": TridiagonalPart,
    "jacobi": JacobiPart,
    "block_jacobi": JacobiPart,
    "multilevel": MultilevelPart,
}
RECORDS = {
    record.__name__: record
    for record in (Bands, BlockForest, CSR, Coarsest, Forest, Ordering, Pattern, Rectangle)
}


def save_preconditioner(M: Preconditioner, path: Any) -> None:
    """Write a preconditioner to a file.

    Parameters
    ----------
    M : Preconditioner
        From any of the functions that make one.
    path : str or path-like
        The file, under exactly this name; it appears when it is complete.

    See Also
    --------
    load_preconditioner

    Examples
    --------
    >>> import os, tempfile
    >>> import linforest_precond as lf
    >>> M = lf.jacobi(lf.matrices.poisson((4, 4)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "jacobi.npz")
    ...     lf.save_preconditioner(M, path)
    ...     lf.load_preconditioner(path).shape
    (16, 16)
    """
    if not isinstance(M, Preconditioner):
        raise TypeError(f"M must be a preconditioner of linforest_precond, got {type(M).__name__}")
    header, arrays = packed(M)
    header = {"format": FORMAT, "version": VERSION, "kind": M.kind, **header}
    path = os.fspath(path)
    with _complete_or_absent(path) as file:
        np.savez(file, **{HEADER: np.array(json.dumps(header))}, **arrays)


def load_preconditioner(path: Any) -> Preconditioner:
    """Read a preconditioner that `save_preconditioner` wrote.

    One that was on a GPU comes back to the GPU, or to the CPU with a RuntimeWarning where none is usable.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    Preconditioner

    Raises
    ------
    ValueError
        For a file that is no such preconditioner, is cut off, or is of a later version.

    See Also
    --------
    save_preconditioner
    """
    path = os.fspath(path)
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(str(arrays.pop(HEADER)))
        known = header["format"] == FORMAT
    except (KeyError, TypeError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is not a complete preconditioner file ({error})") from error
    if not known:
        raise ValueError(f"{path} is not a preconditioner file")
    if header["version"] != VERSION:
        raise ValueError(
            f"{path} has format version {header['version']}, and this linforest_precond reads {VERSION}"
        )
    return restore(header["kind"], (header, arrays))


def packed(M: Preconditioner) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """A preconditioner as plain values and host arrays."""
    arrays: dict[str, np.ndarray] = {}
    header = {
        "backend": M._backend.name,
        "dtype": str(M.dtype),
        "setup": [M._setup.milliseconds, M._setup.first],
        "pattern": _pack(M._pattern, "pattern", arrays),
        "part": _pack(M._part.state(), "part", arrays),
    }
    return header, arrays


def restore(kind: str, state: tuple[dict[str, Any], dict[str, np.ndarray]]) -> Preconditioner:
    """The preconditioner that was packed, on the GPU if it was there and one is usable."""
    header, arrays = state
    backend = _backend(header["backend"])
    pattern, fields_of_part = (_unpack(header[name], arrays, backend.xp) for name in ("pattern", "part"))
    with warnings.catch_warnings():  # told when it was made
        warnings.simplefilter("ignore", RuntimeWarning)
        part = PARTS[kind].from_state(**fields_of_part)
    milliseconds, first = header["setup"]
    dtype = np.dtype(header["dtype"])
    return operator_of(part, pattern, dtype, Setup(_Told(milliseconds), first), backend, pattern.digest)


class _Told:
    """A stopwatch that was read before."""

    def __init__(self, milliseconds: float):
        self.milliseconds = lambda: milliseconds


def _backend(name: str) -> Any:
    if name == "cuda":
        usable, reason = cuda_status()
        if usable:
            from linforest_precond.backends import cuda

            return cuda
        tell(f"the preconditioner was made on a GPU and is restored on the CPU: {reason}")
    return cpu_backend


def _pack(value: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:
    """A value as JSON can hold it; arrays are put aside under names that say where they belong."""
    if is_dataclass(value):
        own = {field.name: getattr(value, field.name) for field in fields(value)}
        return {"record": type(value).__name__, "fields": _pack(own, name, arrays)}
    if isinstance(value, dict):
        return {key: _pack(item, f"{name}.{key}", arrays) for key, item in value.items()}
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        # stall: it leaves the device
        arrays[name] = value.get() if hasattr(value, "get") else np.asarray(value)
        return {"array": name}
    if isinstance(value, tuple | list):
        return [_pack(item, f"{name}.{i}", arrays) for i, item in enumerate(value)]
    return value


def _unpack(value: Any, arrays: dict[str, np.ndarray], xp: Any) -> Any:
    if isinstance(value, list):
        return tuple(_unpack(item, arrays, xp) for item in value)
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return xp.asarray(arrays[value["array"]])
    if "record" in value:
        return RECORDS[value["record"]](**_unpack(value["fields"], arrays, xp))
    return {key: _unpack(item, arrays, xp) for key, item in value.items()}


@contextlib.contextmanager
def _complete_or_absent(path: str) -> Any:
    """A file to write to, which takes its name when all is written."""
    unfinished = f"{path}.{os.getpid()}.part"
    try:
        with open(unfinished, "wb") as file:
            yield file
        os.replace(unfinished, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(unfinished)
        raise
