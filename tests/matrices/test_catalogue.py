"""The catalogue of the paper's test matrices: complete, consistent, and as printed."""

import dataclasses
import re

import pytest

from linforest_precond import matrices
from linforest_precond.matrices.catalogue import find

NAMES = (
    "af_shell8 aniso1 aniso2 aniso3 atmosmodd atmosmodj atmosmodl atmosmodm Bump_2911 Cube_Coup_dt0 "
    "CurlCurl_3 CurlCurl_4 ecology1 ecology2 G3_circuit Geo_1438 Hook_1498 Long_Coup_dt0 ML_Geer StocF-1465 "
    "thermal2 Transport"
).split()


@pytest.fixture(scope="module")
def paper():
    return matrices.catalogue()


def test_all_matrices_in_the_papers_order(paper):
    assert list(paper) == NAMES
    assert all(matrix.name == name for name, matrix in paper.items())


def test_the_generated_ones_have_no_group(paper):
    without = [name for name, matrix in paper.items() if matrix.group is None]
    assert without == ["aniso1", "aniso2", "aniso3"]
    assert paper["ecology1"].full_name == "McRae/ecology1"
    assert paper["aniso1"].full_name == "aniso1"


@pytest.mark.parametrize("name", NAMES)
def test_values_are_consistent(paper, name):
    matrix = paper[name]
    assert matrix.nnz / matrix.rows == pytest.approx(matrix.mean_degree, abs=0.00501)
    assert list(matrix.table4) == [(1, 0), (5, 0), (5, 1)]
    assert all(row.c5 <= row.cmax + 0.01 and row.M_max >= 5 for row in matrix.table4.values())
    table = matrix.table5
    assert list(table.parallel) == list(table.sequential) == [1, 2, 3, 4]
    assert list(table.block) == [1, 5]
    for values in (table.parallel, table.sequential):
        assert sorted(values.values()) == list(values.values())
    shares = [table.c_id, *table.parallel.values(), *table.sequential.values(), *table.block.values()]
    assert all(0 <= share <= 1 for share in shares)
    # Both tables hold the coverage of five iterations without charges at k = 0, 5, ..., and the greedy one.
    assert matrix.table4[5, 0].c5 == table.parallel[2]
    assert matrix.table4_sequential == table.sequential[2]


def test_values_as_printed(paper):
    """A sample from the paper: the first and last rows, and unusual ones."""
    assert (paper["af_shell8"].rows, paper["af_shell8"].nnz) == (504_855, 17_588_875)
    assert paper["af_shell8"].table4[1, 0] == (0.20, 0.24, 195)
    assert paper["ecology1"].table4[1, 0].M_max == 1037
    assert paper["Long_Coup_dt0"].table4[5, 0] == (0.69, 0.69, 31)
    transport = paper["Transport"]
    assert (transport.rows, transport.nnz, transport.symmetric) == (1_602_111, 23_500_731, False)
    assert transport.table4[5, 1] == (0.44, 0.44, 17)
    assert transport.table5.c_id == 0.49
    assert transport.table5.parallel == {1: 0.20, 2: 0.45, 3: 0.68, 4: 0.98}
    assert transport.table5.sequential == {1: 0.22, 2: 0.47, 3: 0.70, 4: 0.98}
    assert transport.table5.block == {1: 0.25, 5: 0.53}


def test_the_nonsymmetric_matrices(paper):
    unsymmetric = {name for name, matrix in paper.items() if not matrix.symmetric}
    assert unsymmetric == {"atmosmodd", "atmosmodj", "atmosmodl", "atmosmodm", "ML_Geer", "Transport"}


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_aniso_has_the_published_size(paper, kind):
    n = 2500
    assert (paper[f"aniso{kind}"].rows, paper[f"aniso{kind}"].nnz) == (n * n, (3 * n - 2) ** 2)


@pytest.mark.parametrize("name", ["ECOLOGY1", "ecology1", "mcrae/ecology1", "McRae/Ecology1"])
def test_found_in_any_case(name):
    assert find(name).name == "ecology1"


def test_unknown_names_list_similar_ones(paper):
    with pytest.raises(LookupError, match="ecology3.*ecology[12]"):
        find("ecology3")
    with pytest.raises(LookupError, match=f"zzz.*{re.escape(', '.join(paper))}"):
        find("zzz")


def test_the_catalogue_is_immutable(paper):
    with pytest.raises(dataclasses.FrozenInstanceError):
        paper["ecology1"].rows = 3
    del paper["ecology2"]
    assert "ecology2" in matrices.catalogue()
    paper["ecology2"] = matrices.catalogue()["ecology2"]


def test_printed(paper):
    text = str(paper["atmosmodm"])
    assert text.startswith("Bourchtein/atmosmodm: computational fluid dynamics problem")
    for part in ("1,489,752", "10,319,760", "0.38, 0.95, 0.96, 0.97", "M_max 297"):
        assert part in text
