"""The lowest subpackage, used by all others: compilation, hashing, atomics, arithmetic of small blocks."""

from . import prefetch as prefetch
from . import stopwatch as stopwatch
from . import streams as streams
from .openmp import load_with_short_waits

load_with_short_waits()
