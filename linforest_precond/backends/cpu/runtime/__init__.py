"""The lowest subpackage, used by all others: compilation, hashing, atomics, arithmetic of small blocks."""

from .openmp import load_with_short_waits

load_with_short_waits()
