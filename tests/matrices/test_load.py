"""Matrices from local files, without network."""

import bz2
import gzip
import io
import pickle
import tarfile
import warnings

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from collection_server import index_line, index_text, pack
from conftest import load_real, matrices_folder

import linforest_precond as lf
from linforest_precond import matrices
from linforest_precond.matrices.download import places
from linforest_precond.matrices.download.places import MatrixOffline, UnknownMatrix

REAL_FOLDER = matrices_folder()
SYMMETRIC = "%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n1 1 2\n2 1 -1\n2 2 0\n3 3 5\n"
GENERAL = "%%MatrixMarket matrix coordinate real general\n"
SYMMETRIC_DENSE = np.array([[2.0, -1, 0], [-1, 0, 0], [0, 0, 5]])


@pytest.fixture(autouse=True)
def environment(tmp_path, monkeypatch):
    """No network, no home, no user folders except those of a test."""
    monkeypatch.setenv("LINFOREST_OFFLINE", "1")
    monkeypatch.setenv("LINFOREST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LINFOREST_SUITESPARSE", "http://127.0.0.1:9")
    monkeypatch.delenv("LINFOREST_MATRICES", raising=False)


@pytest.fixture
def own_folder(tmp_path, monkeypatch):
    """The folder LINFOREST_MATRICES, with an index."""
    folder = tmp_path / "own"
    folder.mkdir()
    lines = [index_line(name, 3, 3, 3) for name in ("HB/small", "HB/twice", "Other/twice", "HB/absent")]
    (folder / "ssstats.csv").write_bytes(index_text(*lines))
    monkeypatch.setenv("LINFOREST_MATRICES", str(folder))
    return folder


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def assert_canonical(A):
    """Columns strictly increasing in every row."""
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    assert A.indptr[0] == 0 and A.indptr[-1] == A.nnz == A.indices.size
    assert np.all((np.diff(rows) > 0) | (np.diff(A.indices) > 0))


MATRIX_MARKET = {
    "real general": ("2 3 2\n2 3 1.5\n1 1 -2\n", [[-2, 0, 0], [0, 0, 1.5]]),
    "real symmetric": ("2 2 2\n1 1 4\n2 1 -1\n", [[4, -1], [-1, 0]]),
    "real skew-symmetric": ("2 2 1\n2 1 3\n", [[0, -3], [3, 0]]),
    "complex hermitian": ("2 2 2\n1 1 1 0\n2 1 2 3\n", [[1, 2 - 3j], [2 + 3j, 0]]),
    "complex symmetric": ("2 2 1\n2 1 2 3\n", [[0, 2 + 3j], [2 + 3j, 0]]),
    "complex general": ("1 2 1\n1 2 0 -1\n", [[0, -1j]]),
    "pattern general": ("2 2 2\n1 2\n2 2\n", [[0, 1], [0, 1]]),
    "pattern symmetric": ("2 2 1\n2 1\n", [[0, 1], [1, 0]]),
    "integer general": ("1 2 2\n1 2 -7\n1 1 3\n", [[3, -7]]),
}


@pytest.mark.parametrize("kind", MATRIX_MARKET)
@pytest.mark.parametrize("packed", [None, gzip, bz2])
def test_every_kind_of_matrix_market_file(kind, packed, tmp_path):
    body, dense = MATRIX_MARKET[kind]
    text = f"%%MatrixMarket matrix coordinate {kind}\n% a comment\n{body}".encode()
    suffix = {None: ".mtx", gzip: ".mtx.gz", bz2: ".mtx.bz2"}[packed]
    path = write(tmp_path / f"A{suffix}", packed.compress(text) if packed else text)
    A = matrices.load(path)
    assert isinstance(A, sp.csr_array) and A.dtype == (np.complex128 if "complex" in kind else np.float64)
    assert_canonical(A)
    np.testing.assert_array_equal(A.toarray(), dense)


def test_dense_matrix_market_files(tmp_path):
    path = write(tmp_path / "A.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n0\n3\n4\n")
    np.testing.assert_array_equal(matrices.load(str(path)).toarray(), [[1, 3], [0, 4]])


def test_duplicates_are_summed_and_zeros_kept(tmp_path):
    text = "%%MatrixMarket matrix coordinate real general\n2 2 4\n1 2 1\n2 1 0\n1 2 2\n1 1 5\n"
    A = matrices.load(write(tmp_path / "A.mtx", text))
    assert_canonical(A)
    assert A.nnz == 3
    np.testing.assert_array_equal(A.toarray(), [[5, 3], [0, 0]])


def test_an_empty_matrix(tmp_path):
    A = matrices.load(write(tmp_path / "A.mtx", "%%MatrixMarket matrix coordinate real general\n0 0 0\n"))
    assert A.shape == (0, 0)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_dtype_converts(dtype, tmp_path):
    A = matrices.load(write(tmp_path / "A.mtx", SYMMETRIC), dtype=dtype)
    assert A.dtype == dtype and A.nnz == 5
    np.testing.assert_array_equal(A.toarray(), SYMMETRIC_DENSE)


def test_dtypes_that_cannot_hold_the_entries(tmp_path):
    complex_text = "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 2\n"
    with pytest.raises(TypeError, match="has complex entries, got dtype=float64; complex64 or complex128"):
        matrices.load(write(tmp_path / "C.mtx", complex_text), dtype=np.float64)
    large = "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1e300\n"
    with pytest.raises(ValueError, match="too large for dtype=float32"):
        matrices.load(write(tmp_path / "L.mtx", large), dtype=np.float32)
    with pytest.raises(TypeError, match="dtype must be float32"):
        matrices.load(tmp_path / "L.mtx", dtype=np.int64)


def test_npz(tmp_path):
    for format in ("csr", "csc", "coo", "bsr", "dia"):
        A = sp.random_array((8, 8), density=0.4, rng=np.random.default_rng(1), format=format)
        sp.save_npz(tmp_path / "A.npz", A)
        B = matrices.load(tmp_path / "A.npz")
        assert_canonical(B)
        np.testing.assert_array_equal(B.toarray(), A.toarray())


class Harm:
    def __reduce__(self):
        return (open, ("/nonexistent/harm", "w"))


def test_an_npz_is_never_unpickled(tmp_path):
    parts = {"format": np.array(b"csr"), "shape": np.array([1, 1]), "indptr": np.array([0, 1])}
    np.savez(tmp_path / "A.npz", **parts, indices=np.array([0]), data=np.array([Harm()], dtype=object))
    with pytest.raises(ValueError, match=r"A\.npz cannot be read: .*allow_pickle"):
        matrices.load(tmp_path / "A.npz")
    write(tmp_path / "B.npz", pickle.dumps(Harm()))
    with pytest.raises(ValueError, match=r"B\.npz cannot be read"):
        matrices.load(tmp_path / "B.npz")


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr"])
@pytest.mark.parametrize("index", [2, -3])
def test_an_npz_with_indices_outside(format, index, tmp_path):
    data = np.ones((1, 1, 1)) if format == "bsr" else np.ones(1)
    parts = {"format": np.array(format.encode()), "shape": np.array([2, 2]), "data": data}
    places = {"row": np.array([0]), "col": np.array([index])}
    if format != "coo":
        places = {"indices": np.array([index]), "indptr": np.array([0, 1, 1])}
    np.savez(tmp_path / "A.npz", **parts, **places)
    with pytest.raises(ValueError, match=r"A\.npz cannot be read"):
        matrices.load(tmp_path / "A.npz")


def test_mat_files(tmp_path):
    A = sp.csc_matrix(SYMMETRIC_DENSE)
    scipy.io.savemat(tmp_path / "P.mat", {"Problem": {"A": A, "name": "HB/small", "b": A[:, :1]}})
    scipy.io.savemat(tmp_path / "one.mat", {"K": A, "b": np.ones(3)})
    scipy.io.savemat(tmp_path / "two.mat", {"K": A, "M": A})
    scipy.io.savemat(tmp_path / "none.mat", {"b": np.ones(3)})
    for name in ("P", "one"):
        np.testing.assert_array_equal(matrices.load(tmp_path / f"{name}.mat").toarray(), SYMMETRIC_DENSE)
    with pytest.raises(ValueError, match=r"two\.mat cannot be read: .*found K, M"):
        matrices.load(tmp_path / "two.mat")
    with pytest.raises(ValueError, match=r"none\.mat cannot be read: .*found none"):
        matrices.load(tmp_path / "none.mat")
    with pytest.raises(ValueError, match="save with -v7"):
        matrices.load(write(tmp_path / "hdf.mat", b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(600)))


BROKEN = {
    "wrong banner": (GENERAL.replace("ket", "kt") + "1 1 1\n1 1 1\n", "not a Matrix Market file"),
    "unknown field": (GENERAL.replace("real", "quaternion") + "1 1 1\n1 1 1\n", "not a known"),
    "no sizes": (GENERAL + "% hello\n", "ends before its entries"),
    "bad sizes": (GENERAL + "3 3\n", "rows, columns and entries"),
    "negative sizes": (GENERAL + "3 3 -1\n", "rows, columns and entries"),
    "an entry short": (SYMMETRIC[:-6], "cannot be read"),
    "an entry too many": (SYMMETRIC + "3 1 4\n", "cannot be read"),
    "row outside": (SYMMETRIC.replace("3 3 5", "4 3 5"), "cannot be read"),
    "row zero": (SYMMETRIC.replace("3 3 5", "0 3 5"), "cannot be read"),
    "not a number": (SYMMETRIC.replace("3 3 5", "3 3 five"), "cannot be read"),
    "empty": ("", "ends before its entries"),
}


@pytest.mark.parametrize(("text", "reason"), BROKEN.values(), ids=BROKEN)
def test_broken_files_are_named(text, reason, tmp_path):
    path = write(tmp_path / "A.mtx", text)
    with pytest.raises(ValueError, match=reason) as caught:
        matrices.load(path)
    assert str(path) in str(caught.value) and "delete it" in str(caught.value)


@pytest.mark.parametrize("packed", [gzip, bz2])
def test_every_truncation_of_a_compressed_file_is_detected(packed, tmp_path):
    content = packed.compress(SYMMETRIC.encode())
    suffix = {gzip: "gz", bz2: "bz2"}[packed]
    for length in range(len(content)):
        path = write(tmp_path / f"A.mtx.{suffix}", content[:length])
        with pytest.raises(ValueError, match=r"A\.mtx\."):
            matrices.load(path)


def test_every_truncation_of_a_text_file_is_detected(tmp_path):
    """A warning if the last number may be truncated; an error before it."""
    for length in range(len(SYMMETRIC)):
        path = write(tmp_path / "A.mtx", SYMMETRIC[:length])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                A = matrices.load(path)
            except ValueError as error:
                assert "A.mtx" in str(error)
                continue
        assert "may be truncated" in str(caught[0].message) and A.nnz == 5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        matrices.load(write(tmp_path / "A.mtx", SYMMETRIC))


def test_a_rectangular_matrix_loads_and_the_solvers_reject_it(tmp_path):
    body, dense = MATRIX_MARKET["real general"]
    A = matrices.load(write(tmp_path / "A.mtx", GENERAL + body))
    assert A.shape == np.shape(dense)
    with pytest.raises(ValueError, match="A must be square"):
        lf.tridiagonal(A)


def test_nonexistent_paths(tmp_path):
    with pytest.raises(FileNotFoundError, match="none.mtx does not exist"):
        matrices.load(tmp_path / "none.mtx")
    with pytest.raises(FileNotFoundError, match="is not a regular file"):
        matrices.load(tmp_path)
    with pytest.raises(
        ValueError, match=r"must end with one of .mtx, .* .rb, .*; text also with .gz or .bz2$"
    ):
        matrices.load(write(tmp_path / "A.txt", SYMMETRIC))
    with pytest.raises(TypeError, match="name must be a string or a path, got int"):
        matrices.load(3)


def test_a_file_of_another_kind_is_refused_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "A.csv").write_text("1,2")
    with pytest.raises(ValueError, match=r"^A\.csv must end with one of \.mtx, "):
        matrices.load("A.csv")


def test_a_home_in_a_path_is_found(tmp_path):
    write(tmp_path / "home" / "A.mtx", SYMMETRIC)
    np.testing.assert_array_equal(matrices.load("~/A.mtx").toarray(), SYMMETRIC_DENSE)


BAD_NAMES = ["..", ".", "", "HB/..", "../..", "a/b/c", "a b", "HB/", "/x/y", "a%2fb", "x\0", "é", "HB\\x"]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_names_that_could_leave_the_cache(name):
    with pytest.raises((ValueError, FileNotFoundError)):
        matrices.load(name)


def boeing(A):
    """A symmetric Rutherford-Boeing file of a 3 x 3 matrix with full lower columns."""
    lower = [A[i, j] for j in range(3) for i in range(j, 3)]
    head = f"{'title':<72}key\n{3:14d}{1:14d}{1:14d}{1:14d}\nrsa           {3:14d}{3:14d}{6:14d}{0:14d}\n"
    values = "".join(f"{value:8.1f}" for value in lower)
    formats = f"{'(4I3)':<16}{'(6I3)':<16}{'(6F8.1)':<20}"
    return f"{head}{formats}\n  1  4  6  7\n  1  2  3  2  3  3\n{values}\n".encode()


def as_bytes(save):
    buffer = io.BytesIO()
    save(buffer)
    return buffer.getvalue()


FORMS = {
    ".mtx": SYMMETRIC.encode(),
    ".mtx.gz": gzip.compress(SYMMETRIC.encode()),
    ".mtx.bz2": bz2.compress(SYMMETRIC.encode()),
    ".rb": boeing(SYMMETRIC_DENSE),
    ".rb.gz": gzip.compress(boeing(SYMMETRIC_DENSE)),
    ".npz": as_bytes(lambda file: sp.save_npz(file, sp.csr_array(SYMMETRIC_DENSE))),
    ".mat": as_bytes(lambda file: scipy.io.savemat(file, {"Problem": {"A": sp.csc_matrix(SYMMETRIC_DENSE)}})),
    ".tar.gz": pack([("small/small.mtx", SYMMETRIC.encode())]),
}


@pytest.mark.parametrize("suffix", FORMS)
@pytest.mark.parametrize("place", ["", "HB", "small", "HB/small"])
@pytest.mark.parametrize("kind", ["own", "cache"])
def test_placed_files_are_found(suffix, place, kind, own_folder, tmp_path):
    write((own_folder if kind == "own" else tmp_path / "cache") / place / f"small{suffix}", FORMS[suffix])
    for name in ("small", "HB/small"):
        np.testing.assert_array_equal(matrices.load(name).toarray(), SYMMETRIC_DENSE)


def test_the_users_folder_is_never_written_to(own_folder, tmp_path):
    write(own_folder / "small.tar.gz", FORMS[".tar.gz"])
    before = sorted(own_folder.rglob("*"))
    own_folder.chmod(0o555)
    try:
        matrices.load("small")
        matrices.describe("small")
    finally:
        own_folder.chmod(0o755)
    assert sorted(own_folder.rglob("*")) == before
    assert not (tmp_path / "cache").exists() and not (tmp_path / "home").exists()


def test_placed_files_need_no_index(tmp_path):
    write(tmp_path / "cache" / "Mine" / "small.mtx", SYMMETRIC)
    np.testing.assert_array_equal(matrices.load("small").toarray(), SYMMETRIC_DENSE)
    write(tmp_path / "cache" / "Yours" / "small.mtx", SYMMETRIC)
    with pytest.raises(UnknownMatrix, match="ambiguous in .*: give one of Mine/small, Yours/small"):
        matrices.load("small")
    assert matrices.load("Yours/small").nnz == 5


def test_upper_and_lower_case_differ(own_folder):
    write(own_folder / "SMALL.mtx", SYMMETRIC)
    with pytest.raises(MatrixOffline):
        matrices.load("small")


def test_a_file_of_another_group_is_skipped(own_folder):
    declared = SYMMETRIC.replace("\n", "\n% name: Other/twice\n", 1)
    write(own_folder / "twice.mtx", declared)
    assert matrices.load("Other/twice").nnz == matrices.load("twice").nnz == 5
    with pytest.raises(MatrixOffline, match="no local copy of HB/twice"):
        matrices.load("HB/twice")


def test_offline_says_what_to_do(own_folder, tmp_path):
    with pytest.raises(MatrixOffline) as caught:
        matrices.load("absent")
    message = str(caught.value)
    assert "MM/HB/absent.tar.gz" in message and "LINFOREST_MATRICES" in message
    assert str(tmp_path / "cache" / "HB") in message
    assert isinstance(caught.value, matrices.MatrixNotAvailable)


@pytest.mark.parametrize(
    ("name", "generated"), [("delaunay", "delaunay:10000"), ("Transport", "standin:Transport")]
)
def test_generated_matrices_are_offered(name, generated, own_folder):
    (own_folder / "ssstats.csv").unlink()
    with pytest.raises(MatrixOffline, match=f"; or take {generated}, a generated matrix"):
        matrices.load(name, offline=True)


def test_ambiguous_and_unknown_names(own_folder):
    with pytest.raises(UnknownMatrix, match="ambiguous: give one of HB/twice, Other/twice"):
        matrices.load("twice")
    with pytest.raises(UnknownMatrix, match="no matrix 'Small'; did you mean HB/small"):
        matrices.load("Small")
    with pytest.raises(UnknownMatrix, match="no matrix 'Other/small'; did you mean HB/small"):
        matrices.load("Other/small")
    with pytest.raises(UnknownMatrix, match="; or take poisson2d:100, a generated matrix$"):
        matrices.load("poisson2d", offline=True)


def test_a_truncated_index_is_named(own_folder):
    content = (own_folder / "ssstats.csv").read_bytes()
    write(own_folder / "ssstats.csv", content[: content.index(b"HB,absent")])
    with pytest.raises(ValueError, match=r"ssstats\.csv is truncated: it lists 3 of 4"):
        matrices.load("small")


@pytest.mark.parametrize(
    ("own", "user", "expected"),
    [
        ("/a", "/b", "/a"),
        ("", "/b", "/b/linforest_precond/matrices"),
        ("", "relative", "/h/.cache/linforest_precond/matrices"),
        ("", "", "/h/.cache/linforest_precond/matrices"),
    ],
)
def test_where_the_cache_is(own, user, expected, monkeypatch):
    for name, value in {"LINFOREST_CACHE": own, "XDG_CACHE_HOME": user, "HOME": "/h"}.items():
        monkeypatch.setenv(name, value)
    assert str(places.cache_folder()) == expected
    assert str(places.cache_folder("/own")) == "/own"


def test_generators_are_called_by_name():
    A = matrices.load("aniso2:12", dtype=np.float32)
    np.testing.assert_array_equal(A.toarray(), matrices.aniso(2, 12, dtype=np.float32).toarray())


def test_devices(backend, tmp_path):
    body, dense = MATRIX_MARKET["real general"]
    path = write(tmp_path / "A.mtx", GENERAL + body)
    A = matrices.load(path, device=backend.name, dtype=np.float32)
    assert isinstance(A.data, backend.xp.ndarray) and A.data.dtype == np.float32 and A.shape == (2, 3)
    np.testing.assert_array_equal(backend.host(A.toarray()), dense)
    with pytest.raises(ValueError, match="device must be"):
        matrices.load(path, device="tpu")


def test_describe_a_path(tmp_path):
    text = SYMMETRIC.replace("\n", "\n% name: HB/small\n% [The title]\n% author: A. Nonymous\n", 1)
    found = matrices.describe(write(tmp_path / "A.mtx", text))
    assert (found.name, found.group, found.title, found.author) == ("small", "HB", "The title", "A. Nonymous")
    assert (found.rows, found.columns, found.stored, found.symmetry) == (3, 3, 4, "symmetric")
    assert found.licence is None and "author    A. Nonymous" in str(found)


def test_describe_names_what_it_cannot_describe(tmp_path):
    with pytest.raises(ValueError, match=r"A\.mtx cannot be read: not a Matrix Market file"):
        matrices.describe(write(tmp_path / "A.mtx", "hello\n"))
    with pytest.raises(ValueError, match="got 'aniso2:30', which is generated"):
        matrices.describe("aniso2:30")


@pytest.mark.parametrize("suffix", FORMS)
def test_describe_every_form(suffix, own_folder):
    write(own_folder / f"small{suffix}", FORMS[suffix])
    found = matrices.describe("small")
    assert (found.rows, found.columns, found.group, found.licence) == (3, 3, "HB", "CC-BY 4.0")
    assert found.path == own_folder / f"small{suffix}"


def test_a_truncated_archive_is_named(own_folder):
    for content in (FORMS[".tar.gz"][:-30], pack([tarfile.TarInfo("small")]), b"hello"):
        write(own_folder / "small.tar.gz", content)
        with pytest.raises(ValueError, match=r"small\.tar\.gz"):
            matrices.load("small")


def test_real_matrices_are_the_ones_read_before(small_real_name, monkeypatch):
    monkeypatch.setenv("LINFOREST_MATRICES", str(REAL_FOLDER))
    A, expected = matrices.load(small_real_name), load_real(small_real_name)
    assert A.nnz == expected.nnz and abs(A - expected).max() == 0
