"""Published numbers against transcriptions of the printed tables."""

import re
from pathlib import Path

import pytest

from linforest_precond.matrices.catalogue import catalogue
from linforest_precond.study.published import keyed_numbers, named_rows

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


UNITS = {"": 1, "K": 1e3, "M": 1e6, "B": 1e9}


def number(text):
    """3.1M, 2^30, 2,614,183 or -0.0005."""
    if power := re.fullmatch(r"(\d+)\^(\d+)", text):
        return float(power[1]) ** int(power[2])
    digits, unit = re.fullmatch(r"(-?[\d.,]+) ?([KMB]?)", text).groups()
    return float(digits.replace(",", "")) * UNITS[unit]


@pytest.mark.parametrize("paper", ["orderings", "joins"])
def test_tables_of_the_thesis(paper):
    found, columns = {}, []
    for line in (PUBLISHED / f"{paper}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            columns = line.partition(": ")[2].split(", ")
        else:
            name, *cells = (cell.strip() for cell in line.split("|"))
            found.setdefault(name, {}).update(zip(columns, map(number, cells), strict=True))
    assert named_rows(paper) == {name: pytest.approx(row) for name, row in found.items()}


def test_numbers_of_sentences_of_the_thesis():
    lines = (PUBLISHED / "traffic.txt").read_text(encoding="utf-8").splitlines()
    cells = [line.split(" | ") for line in lines if not line.startswith("#")]
    assert keyed_numbers("traffic") == {key: number(text) for key, text in cells}
