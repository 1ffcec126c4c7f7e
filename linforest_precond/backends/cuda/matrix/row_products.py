"""Limits of the kernels that multiply by the functions of row_products.cuh."""

from ..runtime.generated_headers import generate_header

# The products of longer rows are not summed by one thread in stored order, but in pieces.
LONGEST_ROW = 256

generate_header("matrix/row_limits.cuh", LONGEST_ROW=LONGEST_ROW)
