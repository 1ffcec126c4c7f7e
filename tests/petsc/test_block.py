"""The preconditioner of one block inside PETSc: products, updates, options, and as a part of PETSc's own."""

import contextlib
import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from petsc_cases import MATRICES, PYTHON, as_petsc, error_of_callback, right_hand_side, solved
from petsc_fixtures import PETSc, options

import linforest_precond as lf
import linforest_precond.petsc

KINDS = ["tridiagonal", "block_tridiagonal", "jacobi", "block_jacobi", "multilevel"]
SLOW_KINDS = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("approximate_inverse", "ilu")]


@pytest.fixture
def made(PETSc, options):
    """A PC for a matrix of SciPy or PETSc, with options of the database."""
    pcs = []

    def make(A, line="", prefix=""):
        P = as_petsc(A, PETSc) if sp.issparse(A) else A
        options(f"-{prefix}pc_type python -{prefix}pc_python_type linforest_precond.petsc.PC {line}")
        pc = PETSc.PC().create(P.getComm())
        pcs.append(pc)
        pc.setOptionsPrefix(prefix)
        pc.setOperators(P)
        pc.setFromOptions()
        pc.setUp()
        return pc

    yield make
    for pc in pcs:
        pc.destroy()


def product(pc, transpose=False):
    """The right-hand side of the tests, and the preconditioner applied to it."""
    from petsc4py import PETSc

    P = pc.getOperators()[1]
    b, x = right_hand_side(P, PETSc), P.createVecRight()
    (pc.applyTranspose if transpose else pc.apply)(b, x)
    return b.getArray(), x.getArray()


def operator(kind, A, **arguments):
    M = getattr(lf, kind)(A, **arguments)
    return M.aspreconditioner() if kind == "multilevel" else M


@pytest.mark.parametrize("kind", KINDS + SLOW_KINDS)
@pytest.mark.parametrize("name", ["aniso2", "convection"])
def test_a_product_is_that_of_the_function(made, kind, name):
    A = MATRICES[name]()
    pc, M = made(A, f"-pc_linforest_kind {kind}"), operator(kind, A)
    b, x = product(pc)
    assert np.array_equal(x, M @ b)
    b, x = product(pc, transpose=True)
    assert np.array_equal(x, M.T @ b)


@pytest.mark.parametrize("kind", ["tridiagonal", "multilevel"])
def test_many_columns_at_once(made, PETSc, kind):
    A = MATRICES["convection"]()
    pc, M, n = made(A, f"-pc_linforest_kind {kind}"), operator(kind, A), A.shape[0]
    columns = np.random.default_rng(2).standard_normal((n, 3))
    X = PETSc.Mat().createDense((n, 3), array=np.asfortranarray(columns), comm=PETSc.COMM_WORLD)
    Y = X.duplicate()
    pc.matApply(X, Y)
    assert np.array_equal(Y.getDenseArray(), M @ columns)


@pytest.mark.parametrize("kind", KINDS)
def test_new_values_update(made, kind):
    A = MATRICES["aniso2"]()
    pc = made(A, f"-pc_linforest_kind {kind}")
    context, P = pc.getPythonContext(), pc.getOperators()[1]
    first = context._made
    rows, columns = A.nonzero()
    changed = sp.csr_array(A)
    changed.data = changed.data * (1 + 0.1 * np.cos(rows + columns))
    M = getattr(lf, kind)(A)
    M.update(changed)
    P.setValuesCSR(changed.indptr, changed.indices, changed.data)
    P.assemble()
    pc.setUp()
    b, x = product(pc)
    assert context._made is first
    assert np.array_equal(x, (M.aspreconditioner() if kind == "multilevel" else M) @ b)


@pytest.mark.parametrize("line, kept", [("", True), ("-pc_linforest_update no", False)])
def test_updates_can_be_turned_off(made, line, kept):
    pc = made(MATRICES["aniso1"](), line)
    context, P = pc.getPythonContext(), pc.getOperators()[1]
    first = context._made
    P.scale(2.0)
    pc.setUp()
    assert (context._made is first) == kept


def test_another_pattern_sets_up_anew(made, PETSc):
    A, B = MATRICES["aniso2"](), lf.matrices.poisson((24, 24))
    pc = made(A)
    pc.setOperators(as_petsc(B, PETSc))
    pc.setUp()
    b, x = product(pc)
    assert np.array_equal(x, lf.tridiagonal(B) @ b)


def test_arguments_come_from_the_database_with_the_prefix(made):
    A = MATRICES["aniso2"]()
    line = "-my_pc_linforest_seed 3 -my_pc_linforest_iterations 2 -my_pc_linforest_dtype float32"
    b, x = product(made(A, line + " -other_pc_linforest_seed nonsense", prefix="my_"))
    assert np.array_equal(x, lf.tridiagonal(A, seed=3, iterations=2, dtype="float32") @ b)


def test_the_program_may_give_arguments_too(PETSc, options):
    A = MATRICES["aniso2"]()
    pc = PETSc.PC().create(PETSc.COMM_SELF)
    pc.setOperators(as_petsc(A, PETSc, PETSc.COMM_SELF))
    pc.setType("python")
    pc.setPythonContext(lf.petsc.PC(seed=3, iterations=2))
    options("-pc_linforest_seed 4")
    pc.setFromOptions()
    pc.setUp()
    b, x = product(pc)
    assert np.array_equal(x, lf.tridiagonal(A, seed=4, iterations=2) @ b)
    pc.destroy()


@pytest.mark.parametrize(
    "line, message",
    [
        ("-pc_linforest_kind sor", "pc_linforest_kind must be"),
        ("-pc_linforest_scope all", "pc_linforest_scope must be"),
        ("-pc_linforest_sead 1", "-pc_linforest_sead: no such option"),
        (
            "-pc_linforest_kind jacobi -pc_linforest_seed 1",
            "-pc_linforest_seed: no such option of kind jacobi",
        ),
        ("-pc_linforest_seed one", "-pc_linforest_seed must be int, got 'one'"),
        ("-pc_linforest_update maybe", "-pc_linforest_update must be bool"),
        ("-pc_linforest_charge x", "charge must be .* -pc_linforest_charge x"),
        (
            "-pc_linforest_scope global -pc_linforest_kind direct",
            "kind with pc_linforest_scope global must be",
        ),
    ],
)
def test_wrong_options_are_named(PETSc, made, line, message):
    with refused(PETSc, message):
        made(MATRICES["small"](), line)


@contextlib.contextmanager
def refused(PETSc, message, kind=ValueError):
    """Expect an error of a callback."""
    with pytest.raises((kind, PETSc.Error)) as caught:
        yield
    with pytest.raises(kind, match=message):
        raise error_of_callback(caught.value, PETSc)


def test_after_an_error_the_preconditioner_can_be_used_again(PETSc, made, options):
    with refused(PETSc, "charge"):
        made(MATRICES["small"](), "-pc_linforest_charge x")
    options("-pc_linforest_charge splitmix64")
    product(made(MATRICES["small"]()))


@pytest.mark.parametrize("form", ["baij", "sbaij", "nest"])
def test_matrices_of_other_types(made, PETSc, form):
    A = MATRICES["aniso2"]()
    P = as_petsc(A, PETSc)
    P.setOption(PETSc.Mat.Option.SYMMETRIC, True)
    other = PETSc.Mat().createNest([[P]]) if form == "nest" else P.convert(form, PETSc.Mat())
    b, x = product(made(other))
    assert np.array_equal(x, lf.tridiagonal(A) @ b)


def resident_bytes():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory in use is not known")
@pytest.mark.parametrize(
    "line",
    [
        "-pc_linforest_kind jacobi",
        "-pc_linforest_kind jacobi -pc_linforest_scope global -pc_linforest_update no",
        "-pc_linforest_scope global",
    ],
)
def test_conversions_are_not_kept(made, PETSc, line):
    """PETSc, not Python, holds the memory of a converted matrix."""
    A = lf.matrices.poisson((200, 200))
    P = as_petsc(A, PETSc)
    P.setOption(PETSc.Mat.Option.SYMMETRIC, True)
    symmetric = P.convert("sbaij", PETSc.Mat())
    pc = made(symmetric, line)
    for _ in range(10):
        pc.getPythonContext().setUp(pc)
    before = resident_bytes()
    for _ in range(50):
        pc.getPythonContext().setUp(pc)
    assert resident_bytes() - before < 10 * A.nnz * 12


def test_a_matrix_without_entries_is_refused(made, PETSc):
    """PETSc would convert it by a product for each column."""
    shell = PETSc.Mat().createPython((9, 9), object(), comm=PETSc.COMM_SELF)
    shell.setUp()
    with refused(PETSc, "P must have entries, got a matrix of the type 'python'", TypeError):
        made(shell)


def test_view_prints_the_operator(made, PETSc, tmp_path):
    pc = made(MATRICES["aniso2"]())
    viewer = PETSc.Viewer().createASCII(str(tmp_path / "view"), comm=PETSc.COMM_WORLD)
    pc.view(viewer)
    viewer.destroy()
    printed = [line.strip() for line in (tmp_path / "view").read_text().splitlines()]
    assert [line.strip() for line in str(pc.getPythonContext()._operator).splitlines()] == [
        line for line in printed if line in str(pc.getPythonContext()._operator)
    ]


def test_the_kind_may_be_chosen_as_by_auto(made):
    A = MATRICES["aniso2"]()
    pc = made(A, "-pc_linforest_kind auto -pc_linforest_calibration default")
    M = lf.auto(A, calibration="default")
    b, x = product(pc)
    assert pc.getPythonContext()._made.kind == M.kind
    assert np.allclose(x, M @ b)


def test_flops_are_logged(made, PETSc):
    A = MATRICES["aniso2"]()
    PETSc.Log.begin()
    for kind, expected in (("tridiagonal", 6 * A.shape[0]), ("jacobi", 2 * A.shape[0])):
        pc = made(A, f"-pc_linforest_kind {kind}")
        before = PETSc.Log.getFlops()
        product(pc)
        assert PETSc.Log.getFlops() - before == expected
    pc = made(A, "-pc_linforest_kind multilevel -pc_linforest_max_coarse 100")
    before = PETSc.Log.getFlops()
    product(pc)
    assert 4 * A.nnz < PETSc.Log.getFlops() - before < 20 * A.nnz


def test_help_lists_the_options_with_their_values(PETSc, made, options, capfd):
    options("-help")
    made(MATRICES["small"](), "-my_pc_linforest_seed 3", prefix="my_")
    PETSc.Sys.syncFlush()
    printed = capfd.readouterr().out
    assert "-my_pc_linforest_seed: <3> int" in printed
    assert "-my_pc_linforest_kind: <tridiagonal> one of" in printed
    assert "-my_pc_linforest_repair: <auto>" in printed


def test_a_forest_that_updates_have_made_useless_is_found_anew(PETSc, options, capfd):
    """The strong couplings turn from one direction of a grid into the other."""
    across = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(30, 30))
    identity = sp.eye_array(30)

    def grid(x, y):
        return as_petsc(sp.csr_array(x * sp.kron(identity, across) + y * sp.kron(across, identity)), PETSc)

    options(PYTHON)
    ksp = PETSc.KSP().create()
    ksp.setType("cg")
    ksp.setTolerances(rtol=1e-8)
    ksp.setFromOptions()
    counts, made = [], []
    for P in (grid(1.0, 0.001), grid(0.001, 1.0), grid(0.001, 1.001)):
        ksp.setOperators(P)
        b = right_hand_side(P, PETSc)
        ksp.solve(b, b.duplicate())
        counts.append(ksp.getIterationNumber())
        made.append(ksp.getPC().getPythonContext()._made)
    ksp.destroy()
    assert made[1] is made[0] and made[2] is not made[0]
    assert counts[1] > 2 * counts[0] > counts[2]
    assert f"{counts[1]} iterations, {counts[0]} after the last setup" in capfd.readouterr().out


def test_near_null_space_and_block_size_of_the_matrix(made, PETSc):
    A, coordinates = lf.matrices.elasticity((20, 6))
    modes = lf.rigid_body_modes(coordinates)
    P = as_petsc(A, PETSc)
    P.setBlockSize(2)
    vectors = [PETSc.Vec().createWithArray(np.ascontiguousarray(mode)) for mode in modes.T]
    P.setNearNullSpace(PETSc.NullSpace().create(vectors=orthonormal(vectors)))
    pc = made(P, "-pc_linforest_kind multilevel -pc_linforest_max_coarse 40")
    text = str(pc.getPythonContext()._operator)
    assert "3 of the near-null space" in text and "2 unknowns per node" in text


def orthonormal(vectors):
    """PETSc takes orthonormal vectors only."""
    basis = np.linalg.qr(np.stack([vector.getArray() for vector in vectors], axis=1))[0]
    for vector, column in zip(vectors, basis.T):
        vector.setArray(column)
    return vectors


SUB = "-sub_pc_type python -sub_pc_python_type linforest_precond.petsc.PC"
LEVELS = "-mg_levels_pc_type python -mg_levels_pc_python_type linforest_precond.petsc.PC"
COMPOSED = {
    "bjacobi": f"-pc_type bjacobi -pc_bjacobi_blocks 3 {SUB} -sub_pc_linforest_kind block_tridiagonal",
    "asm": f"-pc_type asm -pc_asm_blocks 3 -pc_asm_type basic {SUB}",
    "gamg": f"-pc_type gamg -pc_gamg_coarse_eq_limit 20 {LEVELS} -mg_levels_1_pc_linforest_seed 2",
}


@pytest.mark.parametrize("name", COMPOSED)
def test_inside_preconditioners_of_petsc(PETSc, options, name):
    P = as_petsc(MATRICES["aniso2"](), PETSc)
    options("-pc_type none")
    plain = solved(P, PETSc)[0]
    options(COMPOSED[name])
    iterations, reason, x = solved(P, PETSc)
    residual = right_hand_side(P, PETSc) - P * x
    assert reason > 0 and iterations < plain
    assert residual.norm() < 1e-5 * right_hand_side(P, PETSc).norm()


def test_as_a_smoother_of_geometric_multigrid(PETSc, options):
    options(
        "-mg_pc_type mg -mg_pc_mg_levels 3 -mg_pc_mg_galerkin -mg_mg_levels_ksp_type richardson"
        " -mg_mg_levels_pc_type python -mg_mg_levels_pc_python_type linforest_precond.petsc.PC"
        " -mg_mg_levels_pc_linforest_kind tridiagonal"
    )
    da = PETSc.DMDA().create((17, 17), stencil_width=1)
    da.setInterpolationType(PETSc.DMDA.InterpolationType.Q1)
    A = lf.matrices.aniso(2, 17)
    ksp = PETSc.KSP().create()
    ksp.setOptionsPrefix("mg_")
    ksp.setDM(da)
    # All that the DM may be used for, which newer releases tell apart.
    ksp.setDMActive(*([PETSc.KSP.DMActive.ALL] if hasattr(PETSc.KSP, "DMActive") else []), False)
    ksp.setOperators(as_petsc(A, PETSc))
    ksp.setType("cg")
    ksp.setTolerances(rtol=1e-8)
    ksp.setFromOptions()
    b = right_hand_side(ksp.getOperators()[0], PETSc)
    x = b.duplicate()
    ksp.solve(b, x)
    assert ksp.getConvergedReason() > 0 and ksp.getIterationNumber() < 25
    assert np.linalg.norm(A @ x.getArray() - b.getArray()) < 1e-5 * b.norm()
    ksp.destroy()
    da.destroy()


def test_in_fieldsplit(PETSc, options):
    A = MATRICES["aniso2"]()
    n = A.shape[0]
    both = sp.csr_array(sp.block_array([[A, 0.1 * sp.eye_array(n)], [0.1 * sp.eye_array(n), 2 * A]]))
    options(
        "-fs_pc_type fieldsplit -fs_pc_fieldsplit_type multiplicative"
        " -fs_fieldsplit_u_ksp_type preonly -fs_fieldsplit_v_ksp_type preonly"
        " -fs_fieldsplit_u_pc_type python -fs_fieldsplit_u_pc_python_type linforest_precond.petsc.PC"
        " -fs_fieldsplit_v_pc_type python -fs_fieldsplit_v_pc_python_type linforest_precond.petsc.PC"
        " -fs_fieldsplit_v_pc_linforest_kind block_tridiagonal"
    )
    ksp = PETSc.KSP().create()
    ksp.setOptionsPrefix("fs_")
    ksp.setOperators(as_petsc(both, PETSc))
    ksp.setTolerances(rtol=1e-8, max_it=500)
    fields = [PETSc.IS().createStride(n, first=first, step=1) for first in (0, n)]
    ksp.getPC().setType("fieldsplit")
    ksp.getPC().setFieldSplitIS(("u", fields[0]), ("v", fields[1]))
    ksp.setFromOptions()
    b = right_hand_side(ksp.getOperators()[0], PETSc)
    x = b.duplicate()
    ksp.solve(b, x)
    assert ksp.getConvergedReason() > 0
    kinds = [sub.getPC().getPythonContext()._settings.kind for sub in ksp.getPC().getFieldSplitSubKSP()]
    assert kinds == ["tridiagonal", "block_tridiagonal"]
    assert np.linalg.norm(both @ x.getArray() - b.getArray()) < 1e-5 * b.norm()
    ksp.destroy()


@pytest.mark.parametrize("mode", ["r", "w"])
def test_vectors_are_passed_by_dlpack_without_a_copy(PETSc, mode):
    """The path of vectors on a GPU, with NumPy in CuPy's place."""
    from linforest_precond.distributed.petsc.matrices import SharedVector

    vector = PETSc.Vec().createSeq(5)
    vector.set(2.0)
    shared = np.from_dlpack(SharedVector(vector, mode))
    assert np.array_equal(shared, np.full(5, 2.0))
    assert np.shares_memory(shared, vector.getArray())


def test_an_empty_matrix(made):
    b, x = product(made(sp.csr_array((0, 0), dtype=np.float64)))
    assert x.size == 0


def test_a_solve_by_the_command_line_options_alone(PETSc, options):
    P = as_petsc(MATRICES["aniso2"](), PETSc)
    options("-pc_type none")
    plain = solved(P, PETSc)[0]
    options(PYTHON)
    iterations, reason, _ = solved(P, PETSc)
    assert reason > 0 and iterations < plain
