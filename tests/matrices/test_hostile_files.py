"""Containers that expand, contradict themselves or were changed: refused by name, in little memory."""

import bz2
import gzip
import io
import struct
import tarfile
import tracemalloc
import zipfile
import zlib

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from collection_server import pack

from linforest_precond import matrices
from linforest_precond.matrices.readers import archive, bounded_streams

GENERAL = b"%%MatrixMarket matrix coordinate real general\n"
TEXT = GENERAL + b"2 2 2\n1 1 1.5\n2 2 -2\n"
DENSE = [[1.5, 0], [0, -2]]


def written(path, data):
    path.write_bytes(data)
    return path


def refused(path, reason):
    """Refused by name, and without allocating more than a few megabytes."""
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=reason) as caught:
            matrices.load(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert str(path) in str(caught.value)
    assert peak < 64 << 20, f"{peak} bytes"


@pytest.mark.parametrize("suffix", [".mtx.gz", ".mtx.bz2", ".rb.gz", ".rb.bz2"])
@pytest.mark.parametrize("filling", [b"\n", b" ", b"\0", b"1"])
def test_a_bomb_stops_at_its_header(suffix, filling, tmp_path):
    pack = bz2.compress if suffix.endswith("bz2") else gzip.compress
    refused(written(tmp_path / f"A{suffix}", pack(filling * (8 << 20))), "cannot be read")


@pytest.mark.parametrize("suffix", [".mtx.gz", ".mtx.bz2"])
def test_a_bomb_behind_the_entries(suffix, tmp_path):
    """The header promises two entries: a text of 6 MB is not read to its end."""
    pack = bz2.compress if suffix.endswith("bz2") else gzip.compress
    refused(written(tmp_path / f"A{suffix}", pack(TEXT + b"\n" * (6 << 20))), "hold only 2 entries")


def test_a_bomb_that_promises_what_it_has(tmp_path, monkeypatch):
    monkeypatch.setattr(bounded_streams, "LEAST_BOUND", 1 << 17)
    text = GENERAL + b"9 9 50000\n" + b"1 1 1\n" * 50_000
    refused(written(tmp_path / "A.mtx.bz2", bz2.compress(text)), "promises 50000 entries")


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_a_wrong_checksum(pack, tmp_path):
    data = bytearray(pack(TEXT))
    data[-6] ^= 1
    refused(
        written(tmp_path / f"A.mtx.{'gz' if pack is gzip.compress else 'bz2'}", bytes(data)), "cannot be read"
    )


def tar_of(*blocks):
    return gzip.compress(b"".join(blocks) + bytes(1024))


def header(name, size=0, kind=b"0", **fields):
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    for key, value in fields.items():
        setattr(info, key, value)
    return info.tobuf(tarfile.USTAR_FORMAT)


def padded(data):
    return data.ljust(-(-len(data) // 512) * 512, b"\0")


MEMBER = header("A/A.mtx", len(TEXT)) + padded(TEXT)
TARS = {
    "a long pax header": (
        tar_of(header("x", 1 << 20, b"x"), b"1" * (1 << 20), MEMBER),
        "tar header has 1048576",
    ),
    "a pax header of digits": (
        tar_of(header("x", 60_000, b"x"), padded(b"1" * 60_000), MEMBER),
        "pax header is dam",
    ),
    "a pax record too long": (
        tar_of(header("x", 9, b"x"), padded(b"99 a=bcd\n"), MEMBER),
        "pax header is damaged",
    ),
    "a pax size of letters": (
        tar_of(header("x", 11, b"x"), padded(b"11 size=ab\n"), MEMBER),
        "pax header has the size",
    ),
    "a long name": (tar_of(header("x", 1 << 20, b"L"), bytes(1 << 20), MEMBER), "tar header has 1048576"),
    "a sparse member": (
        tar_of(header("x", 22, b"x"), padded(b"22 GNU.sparse.major=1\n"), MEMBER),
        "not a regular file",
    ),
    "a wrong checksum": (tar_of(MEMBER.replace(b"A/A.mtx", b"A/A.mtX", 1)), "checksum is wrong"),
    "a bad banner": (tar_of(header("A/A.mtx", 30), padded(b"hello\n" * 5)), "not a Matrix Market file"),
    "a member that ends early": (gzip.compress(MEMBER[:540]), "truncated"),
    "a huge member": (tar_of(header("B", 2**33 - 1)), "truncated"),
    "nothing": (gzip.compress(b""), "truncated"),
    "no member": (tar_of(), "has no member A/A.mtx"),
}


@pytest.mark.parametrize(("data", "reason"), TARS.values(), ids=TARS)
def test_tar_headers(data, reason, tmp_path):
    refused(written(tmp_path / "A.tar.gz", data), reason)


@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("length", [1, 60, 120, 240])
def test_names_of_every_length(format, length, tmp_path):
    """Long names are split in two fields, or lie in a header of their own."""
    name, buffer = "n" * length + "é" * (length == 60), io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", format=format) as archive:
        for member, text in ((f"{name}/other", b"hello" * 300), (f"{name}/{name}.mtx", TEXT)):
            info = tarfile.TarInfo(member)
            info.size, info.mtime = len(text), 1.5
            try:
                archive.addfile(info, io.BytesIO(text))
            except ValueError:
                pytest.skip("ustar has no room for this name")
    A = matrices.load(written(tmp_path / f"{name}.tar.gz", buffer.getvalue()))
    np.testing.assert_array_equal(A.toarray(), DENSE)


def test_a_binary_size(tmp_path):
    """GNU tar writes sizes over 8 GB in binary."""
    block = bytearray(header("A/A.mtx", len(TEXT)))
    block[124:136] = b"\x80" + len(TEXT).to_bytes(11, "big")
    block[148:156] = b"%06o\0 " % (sum(block) - sum(block[148:156]) + 256)
    A = matrices.load(written(tmp_path / "A.tar.gz", tar_of(bytes(block), padded(TEXT))))
    np.testing.assert_array_equal(A.toarray(), DENSE)
    assert archive._number(bytes(block[124:136])) == len(TEXT)


def test_an_archive_whose_last_number_may_be_cut_gives_a_warning(tmp_path):
    with pytest.warns(UserWarning, match=r"A\.tar\.gz does not end with a line break"):
        matrices.load(written(tmp_path / "A.tar.gz", pack([("A/A.mtx", TEXT[:-1])])))


def npz(path, format="csr", shape=(2, 2), **arrays):
    np.savez(path, format=np.array(format.encode()), shape=np.array(shape), **arrays)
    return path


INDEX_ARRAYS = {
    "a pointer outside": (
        "csr",
        {"indptr": [0, 10**8, 0], "indices": [], "data": []},
        "indptr must increase",
    ),
    "a first pointer": ("csr", {"indptr": [1, 1, 1], "indices": [0], "data": [1.0]}, "indptr must increase"),
    "a falling pointer": (
        "csc",
        {"indptr": [0, 2, 1], "indices": [0, 1], "data": [1.0, 2]},
        "indptr must increase",
    ),
    "a last pointer": ("csr", {"indptr": [0, 1, 2], "indices": [0], "data": [1.0]}, "indptr must increase"),
    "few pointers": ("csr", {"indptr": [0, 1], "indices": [0], "data": [1.0]}, "indptr must have 3 entries"),
    "real pointers": (
        "csr",
        {"indptr": [0.0, 1, 1], "indices": [0], "data": [1.0]},
        "indptr must be integers",
    ),
    "an index outside": (
        "csc",
        {"indptr": [0, 1, 1], "indices": [2], "data": [1.0]},
        "indices must lie in 0 to 1",
    ),
    "an index below": (
        "bsr",
        {"indptr": [0, 1, 1], "indices": [-1], "data": np.ones((1, 1, 1))},
        "indices must lie",
    ),
    "few indices": (
        "csr",
        {"indptr": [0, 1, 1], "indices": [0], "data": [1.0, 2]},
        "indices must have as many",
    ),
    "data in a plane": ("csr", {"indptr": [0, 1, 1], "indices": [0], "data": [[1.0]]}, "do not fit to a csr"),
    "blocks that do not fit": (
        "bsr",
        {"indptr": [0], "indices": [0], "data": np.ones((1, 3, 1))},
        "do not fit",
    ),
    "blocks of no size": ("bsr", {"indptr": [0], "indices": [0], "data": np.ones((1, 0, 1))}, "do not fit"),
    "a row outside": ("coo", {"row": [2], "col": [0], "data": [1.0]}, "row must lie in 0 to 1"),
    "few columns": ("coo", {"row": [1], "col": [], "data": [1.0]}, "col must"),
    "coordinates in space": ("coo", {"coords": [[0], [0], [0]], "data": [1.0]}, "rows and columns"),
    "no columns": ("coo", {"row": [1], "data": [1.0]}, "there is no array col"),
    "a diagonal twice": ("dia", {"offsets": [0, 0], "data": np.ones((2, 2))}, "distinct"),
    "few diagonals": ("dia", {"offsets": [0], "data": np.ones((2, 2))}, "a row for each of 1 offsets"),
    "another format": ("lil", {"data": [1.0]}, "the format must be"),
    "text": ("coo", {"row": [1], "col": [1], "data": np.array(["a"])}, "dtype|must be numbers"),
}


@pytest.mark.parametrize(("format", "arrays", "reason"), INDEX_ARRAYS.values(), ids=INDEX_ARRAYS)
def test_index_arrays_are_checked(format, arrays, reason, tmp_path):
    # Lists without entries are integers, as NumPy's are not.
    arrays = {name: np.array(values) if len(values) else np.empty(0, int) for name, values in arrays.items()}
    refused(npz(tmp_path / "A.npz", format, **arrays), reason)


def test_a_diagonal_outside_is_ignored(tmp_path):
    A = matrices.load(npz(tmp_path / "A.npz", "dia", offsets=np.array([0, -(2**62)]), data=np.ones((2, 2))))
    np.testing.assert_array_equal(A.toarray(), np.eye(2))


def test_a_csr_matrix_that_is_not_sorted(tmp_path):
    arrays = {"indptr": np.array([0, 3, 3]), "indices": np.array([1, 0, 1]), "data": np.array([1.0, 2, 3])}
    np.testing.assert_array_equal(
        matrices.load(npz(tmp_path / "A.npz", **arrays)).toarray(), [[2, 4], [0, 0]]
    )


def test_rows_out_of_proportion(tmp_path):
    arrays = {"row": np.array([0]), "col": np.array([0]), "data": np.array([1.0])}
    refused(npz(tmp_path / "A.npz", "coo", (10**18, 2), **arrays), "rows with 1 entries are too many")


def forged(path, change):
    """A file whose array `data` was changed, in an archive that is sound."""
    whole = io.BytesIO()
    sp.save_npz(whole, sp.csr_array(np.eye(2)))
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, change(old.read(name)) if name == "data.npy" else old.read(name))
    return path


FORGED = {
    "10 TB": (
        lambda data: data.replace(b"(2,), }" + b" " * 12, b"(1250000000000,), }"),
        "promises 10,000,000,000,000 bytes",
    ),
    "a bomb": (lambda data: data + bytes(40 << 20), "promises 16 bytes, got"),
    "nested brackets": (lambda data: data.replace(b"{", b"(" * 9000), "its header is not one of NumPy's"),
    "fields": (lambda data: data.replace(b"'<f8'", b"[('a', 'f8')]"), "its header is not one of NumPy's"),
    "objects": (lambda data: data.replace(b"<f8", b"|O"), "allow_pickle=False"),
    "no bytes": (lambda data: data.replace(b"<f8", b"<U0"), "of no bytes"),
    "another type": (lambda data: data.replace(b"<f8", b"<f9"), "unknown type"),
    "no array": (lambda data: b"hello", "not a NumPy array"),
    "nothing": (lambda data: b"", "not a NumPy array"),
}


@pytest.mark.parametrize(("change", "reason"), FORGED.values(), ids=FORGED)
def test_headers_of_arrays_are_bounded(change, reason, tmp_path):
    refused(forged(tmp_path / "A.npz", change), reason)


def test_a_size_in_the_directory_is_bounded(tmp_path):
    """The directory of the archive says that an array has 3 GB."""
    path = forged(tmp_path / "A.npz", lambda data: data)
    data = bytearray(path.read_bytes())
    at = data.rindex(b"data.npy") - 46
    assert data[at : at + 4] == b"PK\x01\x02"
    data[at + 24 : at + 28] = struct.pack("<I", 3 << 30)
    refused(written(path, bytes(data)), "bytes is not plausible")


def mat_file(**options):
    buffer = io.BytesIO()
    scipy.io.savemat(
        buffer, {"b": np.ones(2), "Problem": {"name": "x", "A": sp.csc_matrix(DENSE)}}, **options
    )
    return buffer.getvalue()


@pytest.mark.parametrize("compressed", [False, True])
def test_a_mat_file_with_any_word_changed(compressed, tmp_path):
    """Refused by name, or a valid matrix: without a checksum a changed value cannot be seen."""
    data = mat_file(do_compression=compressed)
    for at in range(0, len(data), 4):
        for word in (0, 14, 2**32 - 1):
            path = written(tmp_path / "A.mat", data[:at] + struct.pack("<I", word) + data[at + 4 :])
            try:
                A = matrices.load(path)
            except ValueError as error:
                assert str(path) in str(error)
            else:
                assert A.nnz == A.indices.size == A.indptr[-1]


@pytest.mark.parametrize("compressed", [False, True])
def test_every_truncation_of_a_mat_file_is_detected(compressed, tmp_path):
    data = mat_file(do_compression=compressed)
    for length in range(0, len(data), 3):
        path = written(tmp_path / "A.mat", data[:length])
        with pytest.raises(ValueError, match=r"A\.mat cannot be read"):
            matrices.load(path)


def test_a_mat_file_that_expands(tmp_path):
    """The element inside is said to have 3 GB."""
    data = mat_file(do_compression=False)[:128]
    content = zlib.compress(struct.pack("<II", 14, 3 << 30) + bytes(1 << 20))
    data += struct.pack("<II", 15, len(content)) + content
    refused(written(tmp_path / "A.mat", data), "implausible length")


@pytest.mark.parametrize(
    ("dtype", "options"),
    [(dtype, {"format": "4"}) for dtype in (np.float64, np.complex128)]
    + [
        (dtype, {"do_compression": compressed})
        for dtype in (np.float64, np.float32, np.complex128, np.bool_, np.int32, np.uint8)
        for compressed in (False, True)
    ],
)
def test_mat_files_are_read_as_scipy_reads_them(dtype, options, tmp_path):
    dense = np.random.default_rng(0).integers(0, 3, (5, 4)).astype(dtype)
    A = sp.csc_matrix(dense * (1 - 2j) if dtype == np.complex128 else dense)
    scipy.io.savemat(tmp_path / "A.mat", {"text": "hello", "K": A, "list": np.arange(9.0)}, **options)
    B = matrices.load(tmp_path / "A.mat")
    assert B.dtype == (np.complex128 if dtype == np.complex128 else np.float64)
    np.testing.assert_array_equal(B.toarray(), A.toarray())


def test_big_endian_mat_files(tmp_path):
    """The byte order is that of the machine which wrote the file."""

    def element(kind, data):
        return struct.pack(">II", kind, len(data)) + data.ljust(-(-len(data) // 8) * 8, b"\0")

    parts = [
        element(6, struct.pack(">II", 5, 2)),
        element(5, struct.pack(">ii", 2, 2)),
        element(1, b"A"),
        element(5, struct.pack(">ii", 0, 1)),
        element(5, struct.pack(">iii", 0, 1, 2)),
        element(9, struct.pack(">dd", 1.5, -2)),
    ]
    head = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x01\x00MI"
    A = matrices.load(written(tmp_path / "A.mat", head + element(14, b"".join(parts))))
    np.testing.assert_array_equal(A.toarray(), DENSE)


def test_a_problem_without_a_sparse_matrix(tmp_path):
    scipy.io.savemat(tmp_path / "A.mat", {"Problem": {"A": np.eye(2)}})
    refused(tmp_path / "A.mat", "A of Problem is not a sparse matrix")
    scipy.io.savemat(tmp_path / "B.mat", {"Problem": {"K": np.eye(2)}, "M": sp.csc_matrix(DENSE)})
    np.testing.assert_array_equal(matrices.load(tmp_path / "B.mat").toarray(), DENSE)
