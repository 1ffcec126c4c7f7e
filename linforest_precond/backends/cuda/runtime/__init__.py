"""The lowest subpackage, used by all others: CuPy on demand, compiling and launching of kernels."""

from . import prefetch as prefetch
from . import stopwatch as stopwatch
from . import streams as streams
