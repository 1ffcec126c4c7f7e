"""The memory that is left."""

from .lazy_cupy import cupy


def free_bytes():
    """The free memory of the device, and the unused memory that CuPy's pool holds."""
    pool = cupy.get_default_memory_pool()
    return cupy.cuda.Device().mem_info[0] + pool.total_bytes() - pool.used_bytes()
