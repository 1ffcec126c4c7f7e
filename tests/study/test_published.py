"""Every published number of the catalogue against a transcription of the printed tables."""

from pathlib import Path

import pytest

from linforest_precond.matrices.catalogue import catalogue

PUBLISHED = Path(__file__).parent / "published"


def printed(file):
    """The rows of a printed table, without comments: (matrix in lower case, the other cells)."""
    lines = (PUBLISHED / file).read_text(encoding="utf-8").splitlines()
    cells = [line.split() for line in lines if not line.startswith("#")]
    return [(name.lower(), values) for name, *values in cells]


def sizes(paper):
    return [
        "y" if paper.symmetric else "n", str(paper.rows), str(paper.nnz), f"{paper.mean_degree:.2f}"
    ]  # fmt: skip


def configurations(paper):
    columns = []
    for pair in ((1, 0), (5, 0), (5, 1)):
        found = paper.table4[pair]
        columns += [f"{found.c5:.2f}", f"{found.cmax:.2f}", str(found.M_max)]
    return [*columns, f"{paper.table4_sequential:.2f}"]


def coverages(paper):
    table = paper.table5
    factors = [value for n in (1, 2, 3, 4) for value in (table.parallel[n], table.sequential[n])]
    return [f"{value:.2f}" for value in (table.c_id, *factors, table.block[1], table.block[5])]


@pytest.mark.parametrize(
    ("file", "columns"),
    [
        ("forests_table3.txt", sizes),
        ("forests_table4.txt", configurations),
        ("forests_table5.txt", coverages),
    ],
)
def test_the_catalogue_has_the_printed_numbers(file, columns):
    ours = [(name.lower(), columns(paper)) for name, paper in catalogue().items()]
    assert ours == printed(file)
