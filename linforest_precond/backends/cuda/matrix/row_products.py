"""What the products of row_products.cuh are launched with."""

# Rows up to this length are multiplied by our own kernels, one thread per row.
LONGEST_ROW = 256
