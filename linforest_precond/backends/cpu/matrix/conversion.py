"""Conversion of arrays to another precision."""


def converted(arrays, dtype):
    """Arrays in another type."""
    return [array.astype(dtype, copy=False) for array in arrays]
