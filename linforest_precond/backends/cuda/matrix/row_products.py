"""Limits of the kernels in row_products.cuh."""

# Rows up to this length are multiplied by our own kernels, one thread per row.
LONGEST_ROW = 256
