"""New values for bands along a forest of blocks, as in `band_refresh`."""

from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels
from ..runtime.structs import Struct
from .band_refresh import run_pass

BLOCK_PATHS = Struct(
    "BlockPaths", "forest/block_refresh.cu",
    places="P", members="P", blocks="q", lower="P", diagonal="P", upper="P",
)  # fmt: skip


def copy_values(indptr, indices, data, forest):
    """The bands along a forest of blocks of a matrix of this pattern, and the report for `read_report`.

    As `band_refresh.copy_values`.
    """
    b = forest.block_size
    macros = {"VALUE": data.dtype.type, "INDEX": indices.dtype.type, "BITS": b.bit_length() - 1}
    program = kernels("forest/block_refresh", **macros)
    blocks = forest.members.size // b
    bands = lower, diagonal, upper = tuple(cupy.empty((blocks, b, b), data.dtype) for _ in range(3))
    arrays = {"places": forest.places, "members": forest.members}
    paths = BLOCK_PATHS(**arrays, blocks=blocks, lower=lower, diagonal=diagonal, upper=upper)
    kernel = program.begin_block_refresh, program.refresh_blocks
    return bands, run_pass(*kernel, indptr, indices, data, paths)
