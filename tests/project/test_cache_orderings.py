"""The benchmark of orderings runs, and its tables say what the results say."""

import csv

import pytest


def lines():
    """Two cases; "good" needs half of the time and a quarter of the gap in one, as much in the other."""
    numbers = {"rows": 10.0, "entries": 20.0, "order_ms": 1.0, "linear_gap": 8.0, "misses": 0.5}
    numbers |= {"spmv_ms": 4.0, "bfs_ms": 4.0, "cg_ms": 4.0, "log_gap": 40.0}
    first = [{"case": "a", "ordering": name, **numbers} for name in ("natural", "good")]
    first[1] |= {"spmv_ms": 2.0, "log_gap": 10.0}
    return [*first, *({"case": "b", "ordering": name, **numbers} for name in ("natural", "good"))]


def test_tables(bench):
    page = bench("pages.cache_orderings_page")
    assert page.gains(lines(), "spmv_ms") == pytest.approx({"natural": 1.0, "good": 2**0.5})
    assert "| good | 2.00 | 1.00 | 1.00 | 1.41 | 1.00 | 1.00 |" in page.means_table(lines())
    assert "| a | 10 | 2.00 | 0.500 | 4 | good 2.00 x |" in page.cases_table(lines())
    assert page.correlation(lines(), "log_gap", "spmv_ms") == pytest.approx(1.0)
    text = "before\n<!-- x -->\nold\n<!-- end of x -->\nafter"
    assert page.with_section(text, "x", "new") == "before\n<!-- x -->\n\nnew\n\n<!-- end of x -->\nafter"


@pytest.mark.slow
def test_runs(bench, tmp_path):
    benchmark, path = bench("pages.cache_orderings"), tmp_path / "found.csv"
    assert benchmark.main(["--quick", "--only", "R-MAT", "--out", str(path)]) == 0
    with open(path, newline="", encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    assert [line["ordering"] for line in found] == [
        *benchmark.METHODS,
        *(name for name, *_ in benchmark.REFINED),
    ]
    assert all(float(line["spmv_ms"]) > 0 and 0 < float(line["misses"]) <= 1 for line in found)
    gaps = {line["ordering"]: float(line["log_gap"]) for line in found}
    assert gaps["natural, refined"] <= gaps["natural"]
