"""Arrays and sparse matrices of torch, JAX and array-API libraries, without a copy where possible.

Arrays are exchanged by DLPack (https://dmlc.github.io/dlpack): they stay on their device, and the consumer
waits for the producer's stream. Sparse tensors of torch and BCOO and BCSR matrices of JAX become matrices of
SciPy or CuPy on the same memory.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from linforest_precond.backends import backend_of
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import (
    is_foreign,
    is_jax_sparse,
    is_torch,
    is_traced,
    refuse_masked_or_ragged,
)
from linforest_precond.backends.flags import all_set
from linforest_precond.backends.user_warnings import refuse_call

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def native_array(name: str, array: Any) -> Any:
    """A foreign array as one of NumPy or CuPy on the same memory; all else is returned as it is."""
    refuse_masked_or_ragged(name, array)
    if not is_foreign(array):
        return array
    _refuse_derivatives(name, array)
    if is_jax_sparse(array) or (is_torch(array) and array.layout != sys.modules["torch"].strided):
        raise TypeError(f"{name} must be dense, got a sparse {type_name(array)}; convert it with to_dense()")
    if is_torch(array):  # lazy conjugates and negatives cannot be exported
        array = array.detach().resolve_conj().resolve_neg()
    try:
        return backend_of(array).xp.from_dlpack(array)
    except (BufferError, RuntimeError, ValueError) as error:
        raise TypeError(
            f"{name} must hold numbers of a type that NumPy has, on the CPU or a CUDA device, "
            f"got a {type_name(array)} of {array.dtype}; convert it to float32 or float64 ({error})"
        ) from error


def native_matrix(name: str, A: Any) -> Any:
    """A foreign matrix, sparse or dense, as one of SciPy, NumPy or CuPy; all else is returned as it is."""
    refuse_masked_or_ragged(name, A)
    if not is_foreign(A):
        return A
    _refuse_derivatives(name, A)
    if is_jax_sparse(A):
        return _from_jax(name, A)
    if is_torch(A) and A.layout != sys.modules["torch"].strided:
        return _from_torch(name, A.detach())
    return native_array(name, A)


def returned_as(array: Any) -> Callable[[Any], Any]:
    """The function that gives a result of NumPy or CuPy as an array of the library of `array`."""
    if not is_foreign(array):
        return lambda x: x
    if is_torch(array):
        return sys.modules["torch"].from_dlpack
    namespace = array.__array_namespace__()
    return namespace.from_dlpack


def takes_foreign_arrays(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Decorator of solvers: their arguments may be of other libraries, and x is returned as b was given.

    A callback and an inner product are called with arrays of b's library, too.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def exchanged(*args: Parameters.args, **options: Parameters.kwargs) -> Any:
        try:
            given = signature.bind_partial(*args, **options).arguments
        except TypeError:
            refuse_call(function, args, options)
            raise
        if not any(is_foreign(given[name]) for name in _CONVERSIONS if name in given):
            return function(*args, **options)
        returned = returned_as(given.get("b"))
        for name in _CONVERSIONS.keys() & given.keys():
            given[name] = _CONVERSIONS[name](name, given[name])
        for name in ("callback", "inner"):
            if callable(given.get(name)):
                given[name] = _called_with(returned, given[name], is_inner=name == "inner")
        solve: Callable[..., Any] = function
        x, info = solve(**given)
        return returned(x), info

    return exchanged


# The conversion of each argument of the solvers.
_CONVERSIONS: dict[str, Callable[[str, Any], Any]] = {
    "A": native_matrix,
    "M": native_matrix,
    "b": native_array,
    "x0": native_array,
    "nullspace": native_array,
}


def _called_with(returned: Callable[[Any], Any], function: Callable[..., Any], is_inner: bool) -> Any:
    """A user's function, called with arrays of the user's library; an inner product gives a number."""

    def called(*arrays: Array) -> Any:
        # Copied: the solver reuses this memory, some of it is read-only, and users may keep the arrays.
        result = function(*(returned(each.copy()) if hasattr(each, "copy") else each for each in arrays))
        return result.item() if is_inner and hasattr(result, "item") else result

    return called


def _refuse_derivatives(name: str, thing: Any) -> None:
    """Refuse what automatic differentiation or compilation follows: it would be lost without a word."""
    if is_traced(thing):
        raise TypeError(
            f"{name} is traced by JAX (jit, grad or vmap), got a {type_name(thing)}; "
            "call linforest_precond.jax.solve, which can be traced"
        )
    if is_torch(thing) and thing.requires_grad:
        raise TypeError(
            f"{name} requires gradients, which get lost here; call linforest_precond.torch.solve, which is "
            f"differentiable, or pass {name}.detach()"
        )


def _from_torch(name: str, A: Any) -> Any:
    """A sparse tensor of torch: CSR, CSC, BSR or COO, which need not be coalesced."""
    torch = sys.modules["torch"]
    if A.layout == torch.sparse_coo:
        if A.sparse_dim() != 2:
            raise ValueError(f"{name} must be 2-D without dense dimensions, got shape {tuple(A.shape)}")
        row, col = A._indices()
        return coo(name, A._values(), row, col, tuple(A.shape))
    formats = {
        torch.sparse_csr: ("csr", "crow_indices", "col_indices"),
        torch.sparse_csc: ("csc", "ccol_indices", "row_indices"),
        torch.sparse_bsr: ("bsr", "crow_indices", "col_indices"),
    }
    if A.layout not in formats:
        raise TypeError(
            f"{name} must have the layout sparse_csr, sparse_csc, sparse_bsr or sparse_coo, got {A.layout}; "
            f"convert it with {name}.to_sparse_csr()"
        )
    format, pointers, indices = formats[A.layout]
    return compressed(name, format, A.values(), getattr(A, indices)(), getattr(A, pointers)(), tuple(A.shape))


def _from_jax(name: str, A: Any) -> Any:
    """A BCOO or BCSR matrix of JAX."""
    if A.n_batch or A.n_dense:
        raise ValueError(
            f"{name} must be one sparse matrix, got {A.n_batch} batch and {A.n_dense} dense dimension(s)"
        )
    return padded_matrix(name, A.data, A.indices, getattr(A, "indptr", None), tuple(A.shape))


def padded_matrix(name: str, data: Any, indices: Any, indptr: Any, shape: tuple[int, ...]) -> Any:
    """The matrix of the arrays of BCSR, or of BCOO where `indptr` is None, without padding.

    Padding is entries after the last row, or with indices outside the matrix.
    """
    if indptr is not None:
        matrix = compressed(name, "csr", data, indices, indptr, shape)
        used = int(matrix.indptr[-1])  # stall: once
        matrix.data, matrix.indices = matrix.data[:used], matrix.indices[:used]
        return matrix
    data, indices = native_array(name, data), native_array(name, indices)
    row, col = indices.T
    stored = (row < shape[0]) & (col < shape[1])
    if not all_set(stored):  # stall: once
        data, row, col = data[stored], row[stored], col[stored]
    return coo(name, data, row, col, shape)


def compressed(
    name: str, format: str, values: Any, indices: Any, pointers: Any, shape: tuple[int, ...]
) -> Any:
    """A CSR, CSC or BSR matrix of given arrays. Constructors of SciPy would convert 64-bit indices."""
    data = native_array(name, values)
    matrix = _empty(name, format, data, shape, **({"blocksize": data.shape[1:]} if format == "bsr" else {}))
    matrix.data = data
    matrix.indices, matrix.indptr = native_array(name, indices), native_array(name, pointers)
    return matrix


def coo(name: str, values: Any, row: Any, col: Any, shape: tuple[int, ...]) -> Any:
    """A COO matrix of given arrays."""
    data, row, col = (native_array(name, array) for array in (values, row, col))
    matrix = _empty(name, "coo", data, shape)
    matrix.data = data
    if hasattr(matrix, "coords"):  # SciPy's setters of row and col would convert the type
        matrix.coords = (row, col)
    else:
        matrix.row, matrix.col = row, col
    matrix.has_canonical_format = False
    return matrix


def _empty(name: str, format: str, data: Array, shape: tuple[int, ...], **options: Any) -> Any:
    """A matrix without entries, of the library of `data`."""
    sparse = backend_of(data).sparse
    kind = getattr(sparse, f"{format}_array", None) or getattr(sparse, f"{format}_matrix", None)
    if kind is None:
        raise TypeError(f"{name} must be CSR, CSC or COO on the GPU, got {format}; convert it to CSR")
    return kind(shape, dtype=data.dtype, **options)


def type_name(thing: object) -> str:
    """The type of an argument, with its module, for error messages."""
    return f"{type(thing).__module__}.{type(thing).__qualname__}"
