"""Right-hand sides and solutions as kernels take them: strided 2-D arrays with an optional row order."""

from ..runtime.structs import Struct

VECTORS = Struct(
    "Vectors", "tridiagonal/strided_vectors.cuh",
    source="P", target="P", wide="q", order="P", wide_order="q",
    source_row="q", source_column="q", target_row="q", target_column="q", columns="q",
)  # fmt: skip
# Neither right-hand side nor solution.
NOTHING = {name: None if letters == "P" else 0 for name, letters in VECTORS.fields.items()}


def vectors(b, x, order, stored):
    """The struct for 2-D arrays b and x of the `stored` type, or of double precision."""
    item = b.dtype.itemsize
    return VECTORS(
        source=b, target=x, wide=int(b.dtype != stored),
        order=order, wide_order=int(order is not None and order.dtype.itemsize == 8),
        source_row=b.strides[0] // item, source_column=b.strides[1] // item,
        target_row=x.strides[0] // item, target_column=x.strides[1] // item,
        columns=b.shape[1],
    )  # fmt: skip
