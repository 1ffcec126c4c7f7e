"""Operators, hierarchies, forests and histories tell of themselves: attributes, a line, tables, HTML."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import operator_cases as cases
import pytest
import scipy.sparse as sp

import linforest_precond as lf
from linforest_precond.records.printing import Printed, Printout

SYMMETRIC = cases.dominant(24, seed=1)
GENERAL = cases.dominant(24, symmetric=False, seed=2)
# Positive definite, but its tridiagonal part is not: eigenvalues 1 + 0.9 * 2 cos(...) < 0.
WEAK_PATH = sp.csr_array(sp.diags([[1.0] * 6, [0.9] * 5, [0.9] * 5], [0, 1, -1]))
INDEFINITE = sp.csr_array(np.diag([1.0, -2.0, 3.0]) + 0.1)
MAKERS = {
    **{kind: cases.KINDS[kind] for kind in ("forest", "blocks of 2", "jacobi", "block jacobi 3", "ilu")},
    "two forests": lambda A: lf.tridiagonal(A, forests=2),
    "fsai or spai": lf.approximate_inverse,
    "V-cycle": lambda A: lf.multilevel(A, max_coarse=4).aspreconditioner("V"),
    "K-cycle": lambda A: lf.multilevel(A, max_coarse=4).aspreconditioner("K"),
    "matched": lambda A: lf.jacobi(A, scaling="matching"),
    "scaled": lambda A: lf.tridiagonal(A, scaling="jacobi"),
}
# Cycles on several levels have many kernels to load.
EACH_KIND = [
    pytest.param(kind, marks=pytest.mark.slow) if "cycle" in kind or kind == "two forests" else kind
    for kind in MAKERS
]
CLAIMING = set(MAKERS) - {"K-cycle", "matched"}


@pytest.mark.parametrize("kind", EACH_KIND)
class TestPositiveDefinite:
    def test_is_claimed_of_a_definite_matrix(self, kind):
        M = MAKERS[kind](SYMMETRIC)
        if kind in CLAIMING:
            assert M.positive_definite is True
        if M.positive_definite:
            dense = M @ np.eye(24)
            np.testing.assert_allclose(dense, dense.T, rtol=1e-9, atol=1e-12)
            assert np.linalg.eigvalsh((dense + dense.T) / 2).min() > 0

    @pytest.mark.filterwarnings("ignore::RuntimeWarning")
    @pytest.mark.parametrize("A", [GENERAL, INDEFINITE], ids=["general", "indefinite"])
    def test_is_not_claimed_wrongly(self, kind, A):
        M = MAKERS[kind](A)
        dense = M @ np.eye(A.shape[0])
        hermitian = np.allclose(dense, dense.T, rtol=1e-9, atol=1e-12)
        assert not M.positive_definite or (hermitian and np.linalg.eigvalsh(dense).min() > 0)


class TestRepairs:
    @pytest.mark.parametrize("kind", EACH_KIND)
    def test_none(self, kind):
        assert MAKERS[kind](SYMMETRIC).repairs == {}

    def test_clipped_to_be_definite(self):
        M = lf.tridiagonal(WEAK_PATH, "original")
        assert M.repairs == {"made_definite": 1} and M.positive_definite
        unrepaired = lf.tridiagonal(WEAK_PATH, "original", repair="none")
        assert unrepaired.repairs == {} and not unrepaired.positive_definite

    def test_perturbed_pivots_are_counted(self):
        A = sp.csr_array(np.array([[0.0, 1, 0], [1, 2, 0], [0, 0, 0]]))
        with pytest.warns(RuntimeWarning):
            M = lf.jacobi(A)
        assert M.repairs == {"pivots_perturbed": 2} and "2 pivots perturbed" in str(M)

    def test_a_users_change_is_his_own(self):
        M = lf.jacobi(SYMMETRIC)
        M.repairs["pivots_perturbed"] = 7
        assert M.repairs == {}


def test_setup_time_is_the_printed_one(tmp_path):
    M = lf.jacobi(SYMMETRIC)
    milliseconds = float(re.search(r"setup +([0-9.]+) ms", str(M))[1])
    assert M.setup_time > 0 and 1e3 * M.setup_time == pytest.approx(milliseconds, abs=6e-4)
    lf.save_preconditioner(M, tmp_path / "M.npz")
    assert lf.load_preconditioner(tmp_path / "M.npz").setup_time == M.setup_time
    ml = lf.multilevel(SYMMETRIC)
    assert ml.setup_time == ml.aspreconditioner().setup_time > 0


def printed_objects():
    forest = lf.linear_forest(SYMMETRIC)
    history, report = lf.solvers.History(), lf.SolveReport()
    lf.solvers.cg(SYMMETRIC, np.ones(24), history=history)
    lf.solve(SYMMETRIC, np.ones(24), report=report)
    return {
        "preconditioner": lf.tridiagonal(SYMMETRIC),
        "hierarchy": lf.multilevel(SYMMETRIC),
        "forest": forest,
        "block forest": lf.block_tridiagonal(SYMMETRIC).forest,
        "bands": lf.extract_bands(SYMMETRIC, forest),
        "factor": lf.graph.factor(SYMMETRIC, 2),
        "matching": lf.graph.matching(SYMMETRIC),
        "scaling": lf.scaling(SYMMETRIC, "jacobi"),
        "estimate": lf.memory_estimate(SYMMETRIC),
        "history": history,
        "empty history": lf.solvers.History(),
        "report": report,
        "empty report": lf.SolveReport(),
    }


def cells_of(html):
    """The texts of the rows of all tables in a piece of HTML, which must be well-formed."""
    root = ET.fromstring(f"<div>{html.replace('<br>', '<br/>')}</div>")
    return [["".join(cell.itertext()) for cell in row] for row in root.iter("tr")]


def test_one_line_a_table_and_html():
    for name, each in printed_objects().items():
        line, text = repr(each), str(each)
        assert line.startswith("<") and line.endswith(">") and "\n" not in line, name
        rows = cells_of(each._repr_html_())
        assert rows, name
        for row in rows:
            assert all(cell in text for cell in row), name
        titles = len(text.splitlines()) - len(rows)
        assert titles == 1 or "report" in name, name


def test_foreign_text_is_escaped():
    class Odd(Printed):
        def _printout(self):
            return Printout.of("<b>A & B", ("<script>", "\x1b[31m1 < 2"))

    assert cells_of(Odd()._repr_html_()) == [["<script>", "\\x1b[31m1 < 2"]]
    assert "<script>" not in Odd()._repr_html_()


@pytest.mark.parametrize("module", [lf, lf.graph, lf.solvers, lf.matrices], ids=lambda m: m.__name__)
def test_dir_is_tidy(module):
    """What `dir` lists is public, and is neither a submodule that holds it nor an import of its own."""
    names = [name for name in dir(module) if name != "__version__"]
    assert set(names) == set(module.__all__) and not [name for name in names if name.startswith("_")]
    rooms = [name for name in names if type(getattr(module, name)).__name__ == "module"]
    allowed = {"graph", "matrices", "pipeline", "plots", "similarity", "solvers"} if module is lf else set()
    assert set(rooms) <= allowed
    namespace = {}
    exec(f"from {module.__name__} import *", namespace)
    assert set(names) <= set(namespace)


def test_records_with_arrays_do_not_print_them():
    """Every record of the package that prints a table has a line of its own, not that of dataclasses."""
    import dataclasses

    import linforest_precond.distributed
    import linforest_precond.similarity  # noqa: F401  its records are subclasses, too

    printed_objects()
    classes, found = [Printed], []
    while classes:
        found += (below := classes.pop().__subclasses__())
        classes += below
    records = [each for each in found if dataclasses.is_dataclass(each)]
    assert len(records) > 10
    for record in records:
        arrays = any("Array" in str(field.type) for field in dataclasses.fields(record))
        assert record.__repr__ is Printed.__repr__ or not arrays, record
