"""New values for bands along a forest of blocks, as in `band_refresh`."""

from typing import Any, NamedTuple

from .band_refresh import checked_copy
from .block_bands import extract


class _Matrix(NamedTuple):
    """What `extract` reads of a matrix."""

    indptr: Any
    indices: Any
    data: Any
    diagonal: Any
    n: int
    nnz: int


def copy_values(indptr, indices, data, forest):
    """The bands along a forest of blocks of a matrix of this pattern, and the report for `read_report`.

    As `band_refresh.copy_values`; the bands are None where the matrix is not valid.
    """
    indptr, indices, diagonal, report = checked_copy(indptr, indices, data)
    if not report.valid:
        return None, report
    members = forest.members.reshape(-1, forest.block_size)
    matrix = _Matrix(indptr, indices, data, diagonal, indptr.size - 1, indices.size)
    return extract(matrix, members, forest.starts_path), report
