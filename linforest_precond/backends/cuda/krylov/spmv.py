"""Products of matrices and preconditioners with the vectors of Krylov solvers, on the device."""

from typing import Any

import numpy as np

from ..matrix.row_products import LONGEST_ROW
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels, wide_type

# CUSPARSE_SPMV_CSR_ALG2, the deterministic algorithm.
CSR_ALG2 = 3


class Operator:
    """A matrix or operator that is applied by its own `@`."""

    capturable = False  # in a CUDA graph

    def __init__(self, name, matrix):
        self.name, self.matrix = name, matrix

    def into(self, space, source, target):
        """Write the product with vector `source` into vector `target`; both are given by name."""
        source, target = space[source], space[target]
        one = source.shape[1] == 1
        product = self.matrix @ (source[:, 0] if one else source)
        if not isinstance(product, cupy.ndarray):
            raise TypeError(f"{self.name} must give arrays of CuPy, got a {type(product).__name__}")
        if product.shape != target.shape and not (one and product.shape == target.shape[:1]):
            raise ValueError(
                f"{self.name} @ vector must have the shape {(target.shape[0],) if one else target.shape}, "
                f"got {product.shape}"
            )
        if product.dtype.kind == "c" and target.dtype.kind != "c":
            raise TypeError(f"{self.name} must give real vectors for a real system, got {product.dtype}")
        target[...] = product.reshape(target.shape)


class Product(Operator):
    """Products with A: a `CSR` record by our own kernels or by cuSPARSE, anything else by its `@`.

    Only our own kernels are capturable: CuPy refuses to capture cuSPARSE's calls.
    """

    def __init__(self, A, dtype, is_csr):
        super().__init__("A", None if is_csr else A)
        self.own = self.capturable = is_csr and A.longest_row <= LONGEST_ROW
        self._csr = (A.indptr, A.indices, A.data.astype(dtype, copy=False)) if is_csr else None
        self._cusparse = None
        if is_csr and not self.own:
            indptr, indices, data = self._csr  # cuSPARSE does not check the indices, which may be the user's
            self._cusparse = _CuSparse(indptr, cupy.clip(indices, 0, max(A.n - 1, 0)), data, A.n)
        if self.own:
            self._program = kernels(
                "krylov/spmv", VALUE=dtype.type, WIDE=wide_type(dtype), BLOCK=1, INDEX=A.indices.dtype.type
            )

    def into(self, space, source, target):
        if self._csr is None:
            super().into(space, source, target)
            return
        x, y = space[source], space[target]
        if not self.own:
            self._cusparse.multiply(x, y)
        elif space.columns > 1:
            space.launch(self._program.multiply_columns, *self._csr, x, y)
        else:
            space.launch_rows(self._program.multiply_plain, *self._csr, x, y)

    def into_with_sums(self, space, source, target, step, pairs):
        """The same for one column by our own kernels, fused with the inner products and the scalar step."""
        kernel = self._program.multiply_one if len(pairs) == 1 else self._program.multiply_two
        (other,) = {name for name in pairs[0] if name != target}
        space.launch_rows(kernel, *self._csr, space[source], space[target], space[other], step)


class Preconditioning(Operator):
    """Products with M: in place where M can, by its `@` otherwise; None is the identity."""

    def __init__(self, M, dtype, in_place):
        super().__init__("M", M)
        self.is_identity = M is None
        self._in_place = (
            in_place
            and np.promote_types(dtype, M.dtype) == dtype
            and dtype.itemsize >= M.stored_dtype.itemsize
        )
        self.capturable = self.is_identity or self._in_place

    def into(self, space, source, target):
        if self._in_place:
            self.matrix.apply_into(space[source], space[target], False)
        else:
            super().into(space, source, target)


class _CuSparse:
    """A matrix with long rows, multiplied by cuSPARSE; descriptors and buffers are cached."""

    def __init__(self, indptr, indices, data, n):
        import cupyx.scipy.sparse as sparse
        from cupyx import cusparse

        self._matrix = sparse.csr_matrix((data, indices, indptr), shape=(n, n))
        self._matrix.indices, self._matrix.indptr = indices, indptr
        self._descriptor = cusparse.SpMatDescriptor.create(self._matrix)
        self._scalars = [np.array(value, data.dtype) for value in (1, 0)]
        self._cached: dict[tuple[int, int], Any] = {}

    def multiply(self, source, target):
        if source.shape[1] > 1:
            target[...] = self._matrix @ source
            return
        from cupy_backends.cuda.libs import cusparse as library
        from cupyx import cusparse

        key = source.data.ptr, target.data.ptr
        alpha, beta = (scalar.ctypes.data for scalar in self._scalars)
        handle = cupy.cuda.device.get_cusparse_handle()
        if key not in self._cached:
            vectors = [cusparse.DnVecDescriptor.create(array.reshape(-1)) for array in (source, target)]
            kind = cusparse._dtype.to_cuda_dtype(source.dtype)
            shared = (
                handle, library.CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, self._descriptor.desc,
                vectors[0].desc, beta, vectors[1].desc, kind, CSR_ALG2,
            )  # fmt: skip
            buffer = cupy.empty(library.spMV_bufferSize(*shared), np.int8)
            self._cached[key] = vectors, buffer, shared
        _, buffer, shared = self._cached[key]
        library.spMV(*shared, buffer.data.ptr)
