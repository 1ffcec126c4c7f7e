"""Preconditioners are saved, pickled and restored unchanged, also on machines without a GPU."""

import copy
import json
import os
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs
from operator_cases import KINDS, SIZE, dominant, other_values, state, vectors

import linforest_precond as lf
from linforest_precond.precond import preconditioner
from linforest_precond.precond.storage import files as storage

ROOT = Path(__file__).resolve().parents[2]


def from_file(M, folder):
    path = folder / "operator"
    lf.save_preconditioner(M, path)
    return lf.load_preconditioner(path)


WAYS = {
    "pickle": lambda M, _: pickle.loads(pickle.dumps(M)),
    "npz": from_file,
    "copy": lambda M, _: copy.deepcopy(M),
}


@pytest.mark.parametrize("way", WAYS)
class TestRoundTrip:
    @pytest.mark.parametrize("kind", KINDS)
    def test_all_kinds(self, backend, kind, way, tmp_path):
        A = dominant(symmetric=False)
        M = KINDS[kind](backend.csr(A))
        again = WAYS[way](M, tmp_path)
        assert type(again) is type(M) and again is not M
        assert (again.kind, again.shape, again.dtype) == (M.kind, M.shape, M.dtype)
        assert str(again) == str(M)
        assert state(backend, again) == state(backend, M)
        assert_same_arrays(backend, again, M)

    @pytest.mark.parametrize("kind", KINDS)
    def test_it_can_still_be_updated(self, backend, kind, way, tmp_path):
        A = dominant()
        B = other_values(A)
        M = KINDS[kind](backend.csr(A))
        again = WAYS[way](M, tmp_path)
        for operator in (M, again):
            operator.update(backend.csr(B))
        assert state(backend, again) == state(backend, M)
        with pytest.raises(ValueError, match="shape"):
            again.update(backend.csr(dominant(SIZE + 1)))

    @pytest.mark.parametrize(("dtype", "index_dtype"), graphs.quick(graphs.TYPES))
    def test_types(self, backend, way, dtype, index_dtype, tmp_path):
        A = dominant(dtype=dtype, index_dtype=index_dtype)
        for stored in {
            np.dtype(dtype),
            np.dtype(np.complex64 if np.dtype(dtype).kind == "c" else np.float32),
        }:
            M = lf.tridiagonal(backend.csr(A), dtype=stored)
            again = WAYS[way](M, tmp_path)
            assert (again.dtype, again.stored_dtype) == (dtype, stored)
            assert again.forest.order.dtype == index_dtype
            assert state(backend, again) == state(backend, M)

    @pytest.mark.filterwarnings("ignore:.*pivot")
    def test_repairs_are_remembered_in_silence(self, backend, way, tmp_path, recwarn):
        singular = sp.csr_array(np.diag([1.0, 0.0, 3.0]))
        clipped = sp.csr_array(np.eye(9) + 0.9 * (np.eye(9, k=1) + np.eye(9, k=-1)))
        made = [lf.jacobi(backend.csr(singular)), lf.tridiagonal(backend.csr(singular))]
        made.append(lf.tridiagonal(backend.csr(clipped)))
        recwarn.clear()
        for M in made:
            again = WAYS[way](M, tmp_path)
            assert str(again) == str(M) and ("perturbed" in str(M) or "clipped" in str(M))
            assert state(backend, again) == state(backend, M)
        assert not recwarn.list

    def test_small(self, backend, way, tmp_path):
        for size in (0, 1):
            A = backend.csr(sp.csr_array(np.eye(size)))
            for make in KINDS.values():
                assert WAYS[way](make(A), tmp_path).shape == (size, size)


def assert_same_arrays(backend, one, other):
    """The bands and the forest, bit for bit."""
    _, arrays = storage.packed(one)
    _, wanted = storage.packed(other)
    assert arrays.keys() == wanted.keys()
    for name, array in arrays.items():
        assert array.dtype == wanted[name].dtype
        np.testing.assert_array_equal(array, wanted[name])


@pytest.mark.slow
def test_views_pickle(backend):
    M = lf.tridiagonal(backend.csr(dominant(symmetric=False, dtype=complex)))
    x = backend.array(vectors(complex, SIZE))
    for view in (M.T, M.H, M.T.H):
        found = pickle.loads(pickle.dumps(view)) @ x
        np.testing.assert_array_equal(backend.host(found), backend.host(view @ x))


class TestFiles:
    @pytest.fixture
    def saved(self, tmp_path):
        path = tmp_path / "M.anything"
        lf.save_preconditioner(lf.tridiagonal(dominant()), path)
        return path

    def test_of_a_hierarchy_its_cycle_is_kept(self, tmp_path):
        ml, r = lf.multilevel(lf.matrices.poisson((10, 10)), max_coarse=20), np.arange(100.0)
        lf.save_preconditioner(ml, tmp_path / "cycle")
        np.testing.assert_array_equal(lf.load_preconditioner(tmp_path / "cycle") @ r, ml @ r)

    def test_the_name_is_kept(self, tmp_path):
        M = lf.jacobi(dominant())
        for name in ("plain", "with.npz", "two.parts.here", "äö ü"):
            lf.save_preconditioner(M, tmp_path / name)
            lf.save_preconditioner(M, str(tmp_path / name))  # and over itself
        assert sorted(os.listdir(tmp_path)) == sorted(["plain", "with.npz", "two.parts.here", "äö ü"])

    def test_no_pickle_is_needed(self, saved):
        with np.load(saved, allow_pickle=False) as file:
            header = json.loads(str(file["header"]))
            assert header["version"] == 1 and header["kind"] == "tridiagonal"
            assert all(file[name].dtype != object for name in file.files)

    @pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
    def test_a_file_cut_off(self, saved, share):
        content = saved.read_bytes()
        saved.write_bytes(content[: int(share * len(content))])
        with pytest.raises(ValueError, match="M.anything"):
            lf.load_preconditioner(saved)

    def test_a_file_with_flipped_bits(self, saved):
        """Refused, or the same numbers: some bytes of an archive mean nothing."""
        content, refused = saved.read_bytes(), 0
        b = np.ones(lf.load_preconditioner(saved).shape[0])
        product = lf.load_preconditioner(saved) @ b
        places = range(0, len(content), 97)
        for place in places:
            flipped = bytearray(content)
            flipped[place] ^= 0xFF
            saved.write_bytes(flipped)
            try:
                M = lf.load_preconditioner(saved)
            except lf.PreconditionerFileError as error:
                assert "M.anything" in str(error)
                refused += 1
            else:
                np.testing.assert_array_equal(M @ b, product)
        assert refused > 0.8 * len(places)

    def test_other_files(self, tmp_path):
        path = tmp_path / "other"

        def save(function, *arrays, **named):
            with open(path, "wb") as file:
                function(file, *arrays, **named)

        for write in (
            lambda: path.write_text("hello"),
            lambda: save(np.save, np.eye(3)),
            lambda: save(np.savez, a=np.eye(3)),
            lambda: save(np.savez, header=np.array('{"format": "?", "version": 1}')),
            lambda: save(np.savez, header=np.array("[]")),
            lambda: zipfile.ZipFile(path, "w").close(),
        ):
            write()
            with pytest.raises(ValueError, match="other"):
                lf.load_preconditioner(path)
        with pytest.raises(FileNotFoundError):
            lf.load_preconditioner(tmp_path / "missing")

    def test_a_later_version(self, saved, monkeypatch):
        monkeypatch.setattr(storage, "VERSION", 0)
        with pytest.raises(ValueError, match="version 1"):
            lf.load_preconditioner(saved)

    def test_what_is_no_preconditioner(self, tmp_path):
        with pytest.raises(TypeError, match="M must be"):
            lf.save_preconditioner(np.eye(3), tmp_path / "x")
        assert not os.listdir(tmp_path)

    def test_an_interrupted_save_leaves_nothing(self, saved, monkeypatch):
        before = saved.read_bytes()

        def fail(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr(np, "savez", fail)
        with pytest.raises(KeyboardInterrupt):
            lf.save_preconditioner(lf.jacobi(dominant()), saved)
        assert saved.read_bytes() == before and os.listdir(saved.parent) == [saved.name]


WITHOUT_CUPY = """
import sys, warnings
sys.modules["cupy"] = None
import pickle
import numpy as np
import scipy.sparse.linalg
import linforest_precond as lf
expected = np.load(sys.argv[1])
for path in sys.argv[2:]:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        if path.endswith(".pickle"):
            with open(path, "rb") as file:
                M = pickle.load(file)
        else:
            M = lf.load_preconditioner(path)
    assert [str(each.message)[:37] for each in told] == ["the preconditioner was made on a GPU "], told
    assert isinstance(M, scipy.sparse.linalg.LinearOperator)
    np.testing.assert_allclose(M @ expected["r"], expected["x"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(M.T @ expected["r"], expected["y"], rtol=0, atol=1e-12)
    A = scipy.sparse.csr_array((expected["data"], expected["indices"], expected["indptr"]))
    M.update(A)
    np.testing.assert_allclose(M @ expected["r"], expected["x"], rtol=0, atol=1e-12)
    print(M)
"""


def run_python(*arguments):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True)


class TestWithoutGpu:
    """A preconditioner of the GPU is restored on the CPU where CuPy is missing, with one warning."""

    @staticmethod
    def loaded(folder, M, A):
        """The output of a process that loads from the folder and compares with M, an operator on the CPU."""
        r = vectors(float, SIZE)
        arrays = {"data": A.data, "indices": A.indices, "indptr": A.indptr}
        np.savez(folder / "expected.npz", r=r, x=M @ r, y=M.T @ r, **arrays)
        script = folder / "load.py"
        script.write_text(WITHOUT_CUPY)
        done = run_python(script, folder / "expected.npz", folder / "M.pickle", folder / "M.npz")
        assert done.returncode == 0, done.stderr
        return done.stdout

    @pytest.mark.parametrize("kind", graphs.quick(["forest", "blocks of 2", "block jacobi 3"]))
    def test_as_if_from_a_gpu(self, kind, tmp_path, monkeypatch):
        """A file and a pickle whose headers name the GPU, made on any machine."""
        A = dominant(symmetric=False)
        M = KINDS[kind](A)
        packed = preconditioner.packed(M)
        for module in (preconditioner, storage):  # pickles and files
            monkeypatch.setattr(module, "packed", lambda _: ({**packed[0], "backend": "cuda"}, packed[1]))
        (tmp_path / "M.pickle").write_bytes(pickle.dumps(M))
        lf.save_preconditioner(M, tmp_path / "M.npz")
        monkeypatch.undo()
        assert self.loaded(tmp_path, M, A).count("on cpu") == 2

    @pytest.mark.gpu
    @pytest.mark.parametrize("kind", KINDS)
    def test_from_a_gpu(self, cuda, kind, tmp_path):
        A = dominant(symmetric=False)
        M = KINDS[kind](cuda.csr(A))
        (tmp_path / "M.pickle").write_bytes(pickle.dumps(M))
        lf.save_preconditioner(M, tmp_path / "M.npz")
        assert self.loaded(tmp_path, KINDS[kind](A), A).count("on cpu") == 2
