"""The lowest subpackage, used by all others: CuPy on demand, compiling and launching of kernels."""
