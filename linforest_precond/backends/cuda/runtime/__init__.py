"""What every room uses and that uses none: CuPy on demand, loading and launching of kernels."""

from . import stopwatch as stopwatch
