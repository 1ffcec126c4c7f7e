"""Rutherford- and Harwell-Boeing files: pitfalls of the formats, and comparison with SciPy's reader."""

import gzip
import io
import warnings

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from linforest_precond import matrices
from linforest_precond.matrices.readers import rutherford_boeing
from linforest_precond.matrices.readers.rutherford_boeing import read_rutherford_boeing


def fixed_width(numbers, form, per_line, width):
    """Numbers right-justified in fields, a few per line."""
    cells = [form(number).rjust(width) for number in numbers]
    assert all(len(cell) == width for cell in cells)
    return ["".join(cells[i : i + per_line]) for i in range(0, len(cells), per_line)]


def exponent_form(value):
    return f"{value:.16E}"


def boeing_text(A, kind, *, formats=("(26I3)", "(20I4)", "(3E26.16)"), value_form=exponent_form, fifth=None):
    """Write the columns of a matrix as they are, under any matrix type."""
    A = sp.csc_array(A)
    values = A.data.view(np.float64) if A.data.dtype.kind == "c" else A.data
    pointers = fixed_width(A.indptr + 1, str, 26, 3)
    rows = fixed_width(A.indices + 1, str, 20, 4)
    entries = [] if kind[0] in "pP" else fixed_width(values.tolist(), value_form, 3, 26)
    counts = [len(pointers), len(rows), len(entries)]
    head = [
        f"{'A test matrix':<72}{'key':<8}",
        "".join(f"{count:14d}" for count in (sum(counts), *counts)),
        f"{kind:<14}{A.shape[0]:14d}{A.shape[1]:14d}{A.nnz:14d}{0:14d}",
        f"{formats[0]:<16}{formats[1]:<16}{formats[2]:<20}",
    ]
    return "\n".join([*head, *([fifth] if fifth else []), *pointers, *rows, *entries, ""]).encode()


def random_matrix(rows, columns, *, seed=0, complex_values=False):
    generator = np.random.default_rng(seed)
    A = sp.random_array((rows, columns), density=0.3, rng=generator, data_sampler=generator.standard_normal)
    return A + 1j * A.power(2) if complex_values else A


def lower_of(kind, n=12):
    """(the triangle a file of this type stores, the whole matrix)."""
    A = random_matrix(n, n, complex_values=kind[0] == "c").toarray()
    mirror = {"s": A.T, "z": -A.T, "h": A.conj().T}[kind[1]]
    whole = A + mirror
    return sp.csc_array(np.tril(whole)), whole


@pytest.mark.parametrize("shape", [(7, 7), (9, 4), (3, 11)])
def test_general_files_are_what_scipy_reads(shape, tmp_path):
    A = random_matrix(*shape)
    text = boeing_text(A, "RUA" if shape[0] == shape[1] else "RRA")
    B = read_rutherford_boeing(text)
    np.testing.assert_array_equal(B.toarray(), A.toarray())
    if shape[0] == shape[1]:
        np.testing.assert_array_equal(B.toarray(), scipy.io.hb_read(io.StringIO(text.decode())).toarray())


def test_files_of_scipy(tmp_path):
    A = sp.csc_matrix(random_matrix(30, 30))
    scipy.io.hb_write(tmp_path / "A.hb", A)
    np.testing.assert_allclose(matrices.load(tmp_path / "A.hb").toarray(), A.toarray(), rtol=1e-15)


@pytest.mark.parametrize("kind", ["rsa", "rza", "csa", "cha", "cza"])
def test_one_triangle_is_mirrored(kind):
    lower, whole = lower_of(kind)
    B = read_rutherford_boeing(boeing_text(lower, kind))
    assert B.dtype == (np.complex128 if kind[0] == "c" else np.float64)
    np.testing.assert_array_equal(B.toarray(), whole)


def test_patterns_and_integers():
    lower = sp.csc_array(np.tril(np.ones((3, 3))))
    pattern = read_rutherford_boeing(boeing_text(lower, "psa"))
    np.testing.assert_array_equal(pattern.toarray(), np.ones((3, 3)))
    A = sp.csc_array(np.arange(1.0, 10.0).reshape(3, 3))
    text = boeing_text(A, "iua", formats=("(26I3)", "(20I4)", "(3I26)"), value_form=lambda x: str(int(x)))
    np.testing.assert_array_equal(read_rutherford_boeing(text).toarray(), A.toarray())


def test_fields_without_blanks_between_them():
    text = b"\n".join([
        b"title".ljust(72) + b"key",
        b"             3             1             1             1",
        b"rua                        2             2             4             0",
        b"(3I1)           (4I1)           (1P,4D9.2)",
        b"135",
        b"1212",
        b"-1.00D+00-2.00D+00-3.00-100 4.00D+00",
        b"",
    ])  # fmt: skip
    np.testing.assert_array_equal(read_rutherford_boeing(text).toarray(), [[-1, -3e-100], [-2, 4]])


def test_positive_fields_without_blanks_and_numbered_lines():
    """Neither an exponent nor a line number is merged with a value."""
    text = b"\n".join([
        b"title".ljust(72) + b"key",
        b"             3             1             1             1",
        b"rua                        2             2             4             0",
        b"(3I3)           (4I3)           (4E8.2)",
        b"  1  3  5".ljust(72) + b"00000005",
        b"  1  2  1  2".ljust(72) + b"00000006",
        b"1.00E+002.00E+003.00E+004.00E+00".ljust(72) + b"00000007",
    ])  # fmt: skip
    np.testing.assert_array_equal(read_rutherford_boeing(text).toarray(), [[1, 3], [2, 4]])


def test_a_fifth_line_and_right_hand_sides_are_ignored():
    A = random_matrix(6, 6)
    text = boeing_text(A, "RUA", fifth="F                          1             6") + b"  1.0  2.0  3.0\n"
    np.testing.assert_array_equal(read_rutherford_boeing(text).toarray(), A.toarray())


def test_explicit_zeros_are_kept():
    A = sp.csc_array((np.array([1.0, 0.0]), np.array([0, 1]), np.array([0, 2, 2])), shape=(2, 2))
    assert read_rutherford_boeing(boeing_text(A, "rua")).nnz == 2


def test_every_truncation_is_detected(tmp_path):
    text = boeing_text(random_matrix(6, 6), "rua")
    path = tmp_path / "A.rb"
    for length in range(0, len(text) - 1, 7):
        path.write_bytes(text[:length])
        with pytest.raises(ValueError, match=r"A\.rb cannot be read"):
            matrices.load(path)
    path.write_bytes(text[:-2])
    with pytest.raises(ValueError, match="truncated"):
        matrices.load(path)


def change(old, new):
    text = boeing_text(sp.csc_array(np.tril(np.ones((3, 3)))), "rsa")
    assert old in text
    return text.replace(old, new, 1)


BROKEN = {
    "elements": (change(b"rsa", b"rse"), "only assembled"),
    "no type": (change(b"rsa", b"xyz"), "matrix type"),
    "no formats": (change(b"(26I3)", b"      "), "Fortran formats"),
    "no sizes": (change(b"rsa           ", b"rsa  three    "), "sizes"),
    "not a number": (change(b"  1  4", b"  1  x"), "not readable"),
    "descending pointers": (change(b"  1  4  6  7", b"  1  6  4  7"), "increase"),
    "too few pointers": (change(b"  1  4  6  7", b"  1  4  6   "), "not readable"),
    "row outside": (change(b"   1   2   3", b"   1   2   9"), "outside 1 to 3"),
    "row zero": (change(b"   1   2   3", b"   0   2   3"), "outside 1 to 3"),
    "not square": (change(b"rsa" + b" " * 24 + b"3", b"rsa" + b" " * 24 + b"4"), "must be square"),
    "a wide field": (change(b"(26I3)", b"(1I999999999)"), "format .1I999999999. is not plausible"),
    "a long line": (change(b"(26I3)", b"(999999999I1)"), "format .999999999I1. is not plausible"),
    "no fields": (change(b"(26I3)", b"(0I3) "), "format .0I3. is not plausible"),
    "many columns": (
        change(b"%14d%14d" % (3, 6), b" 1111111111111%14d" % 6),
        "promises 1111111111112 numbers",
    ),
    "many rows": (
        change(b"rsa" + b" " * 24 + b"3", b"rua" + b" " * 11 + b"1" * 14),
        "rows with 6 entries are too many",
    ),
    "too large": (change(b"1.0000000000000000E+00", b"1.000000000000000E+999"), "not readable"),
    "a control character": (change(b"1.0000000000000000E+00", b"1.000000000000000\0E+00"), "not readable"),
    "another format": (b"%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n\n\n", "matrix type"),
}


@pytest.mark.parametrize(("text", "reason"), BROKEN.values(), ids=BROKEN)
def test_broken_files_say_what_is_wrong(text, reason, tmp_path):
    (tmp_path / "A.rb").write_bytes(text)
    with warnings.catch_warnings(), pytest.raises(ValueError, match=f"A.rb cannot be read: .*{reason}"):
        warnings.simplefilter("error")
        matrices.load(tmp_path / "A.rb")


def test_sections_longer_than_a_batch(monkeypatch):
    """Each batch of lines decides for itself whether blanks separate the numbers."""
    monkeypatch.setattr(rutherford_boeing, "BATCH_BYTES", 100)
    A = random_matrix(40, 40, seed=3)
    np.testing.assert_array_equal(read_rutherford_boeing(boeing_text(A, "rua")).toarray(), A.toarray())


def test_a_checksum_behind_right_hand_sides_is_verified(tmp_path):
    data = bytearray(gzip.compress(boeing_text(random_matrix(6, 6), "rua") + b"  1.0  2.0  3.0\n" * 50))
    data[-6] ^= 1
    (tmp_path / "A.rb.gz").write_bytes(bytes(data))
    with pytest.raises(ValueError, match=r"A\.rb\.gz cannot be read: CRC check failed"):
        matrices.load(tmp_path / "A.rb.gz")


@pytest.mark.parametrize("kind", ["cha", "cza"])
def test_diagonals_that_contradict_the_type(kind):
    with pytest.raises(ValueError, match="the diagonal of a .* matrix must be"):
        read_rutherford_boeing(boeing_text(np.array([[1 + 5j]]), kind))
