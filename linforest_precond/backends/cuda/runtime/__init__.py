"""The lowest subpackage, used by all others: CuPy on demand, compiling and launching of kernels."""

from .launches import BLOCK, blocks_for, launch, launch_blocks, resident_blocks
from .lazy_cupy import cupy
from .loader import INDICES, STORED_AND_APPLIED, VALUES, WEIGHTS, Program, wide_type
from .structs import Struct, address, generate_header

__all__ = [
    "BLOCK", "INDICES", "STORED_AND_APPLIED", "VALUES", "WEIGHTS", "Program", "Struct", "address",
    "blocks_for", "cupy", "generate_header", "launch", "launch_blocks", "resident_blocks", "wide_type",
]  # fmt: skip
