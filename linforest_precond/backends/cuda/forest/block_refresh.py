"""New values for bands along a forest of blocks, as in `band_refresh`."""

from ..runtime.launch import launch
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels
from ..runtime.structs import Struct
from .band_refresh import new_records, run_pass

BLOCK_PATHS = Struct(
    "BlockPaths", "forest/block_refresh.cu",
    places="P", members="P", blocks="q", records="P",
)  # fmt: skip


def copy_values(indptr, indices, data, forest):
    """The bands along a forest of blocks of a matrix of this pattern, and the report for `read_report`.

    As `band_refresh.copy_values`.
    """
    b = forest.block_size
    macros = {"VALUE": data.dtype.type, "INDEX": indices.dtype.type, "BITS": b.bit_length() - 1}
    program = kernels("forest/block_refresh", **macros)
    blocks, records = forest.members.size // b, new_records(indptr.size - 1, 3 * b, data.dtype)
    paths = BLOCK_PATHS(places=forest.places, members=forest.members, blocks=blocks, records=records)
    report = run_pass(program.begin_block_refresh, program.refresh_blocks, indptr, indices, data, paths)
    bands = tuple(cupy.empty((blocks, b, b), data.dtype) for _ in range(3))
    launch(program.gather_blocks, (forest.members, records, blocks, *bands), items=blocks * b)
    return bands, report
