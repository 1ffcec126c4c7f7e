"""The reader of Matrix Market files: the grammar of every line, correct rounding, messages."""

import io
import os
import random
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from conftest import matrices_folder
from matrix_market_oracle import assert_equals_oracle, real

from linforest_precond import matrices
from linforest_precond.backends import backend_named
from linforest_precond.matrices.readers import bounded_streams, entry_lines, matrix_market

HEAD = "%%MatrixMarket matrix"


def written(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode("latin-1"))
    return path


def load_value(text, tmp_path, field="real"):
    """The only entry of a file whose third line is `text` behind the indices."""
    path = written(tmp_path / "A.mtx", f"{HEAD} coordinate {field} general\n1 1 1\n1 1 {text}\n")
    return matrices.load(path).data[0]


VALUES = {
    "1.5D+03": 1500.0,
    "1.5d3": 1500.0,
    "1.0-100": 1e-100,
    "1.0+5": 1e5,
    "-2.5E-3": -2.5e-3,
    "+1.5": 1.5,
    "1.": 1.0,
    ".5": 0.5,
    "-.5": -0.5,
    "0000000000000000000000012": 12.0,
    "1e-999": 0.0,
    "4e-324": 5e-324,
    "9007199254740993": 9007199254740992.0,
    "0.1": 0.1,
    "inf": np.inf,
    "-Infinity": -np.inf,
    "1e0000000000005": 1e5,
    "17976931348623157" + "0" * 292: 1.7976931348623157e308,
    "0." + "1" * 400: 1 / 9,
}


@pytest.mark.parametrize("text", VALUES)
def test_numbers_are_read_right(text, tmp_path):
    assert load_value(text, tmp_path) == VALUES[text]
    assert np.isnan(load_value("NaN", tmp_path))


NOT_NUMBERS = [
    "1,75",
    "1 2",
    "1e",
    "1e-",
    "e5",
    "-",
    ".",
    "1.2.3",
    "0x10",
    "1_0",
    "1f",
    "1.5D",
    "1-",
    "nan(5)",
    "",
    "1\0",
    "1 % c",
    "1e999",
    "-1e999",
    "1e5e5",
    "1\x0c",
    "\xb2",
    "9" * 5000,
    "1" * 400,
]


@pytest.mark.parametrize("text", NOT_NUMBERS, ids=repr)
def test_other_values_are_refused_with_file_line_and_text(text, tmp_path):
    with pytest.raises(ValueError, match=r"A\.mtx cannot be read: line 3: ") as caught:
        load_value(text, tmp_path)
    shown = f"1 1 {text}".encode("latin-1").decode("utf-8", "replace").strip()
    assert repr(shown[: entry_lines.SHOWN]) in str(caught.value)


def test_integers(tmp_path):
    assert load_value("-9223372036854775808", tmp_path, "integer") == -(2.0**63)
    assert load_value("18446744073709551615", tmp_path, "unsigned-integer") == 2.0**64
    for text, field in (
        ("1.9", "integer"),
        ("1e3", "integer"),
        ("-1", "unsigned-integer"),
        ("1" * 30, "integer"),
        ("9223372036854775808", "integer"),
        ("18446744073709551616", "unsigned-integer"),
    ):
        with pytest.raises(ValueError, match="line 3: .*integer"):
            load_value(text, tmp_path, field)


def test_large_integers_do_not_wrap_around_when_summed(tmp_path):
    text = f"{HEAD} coordinate integer general\n1 1 2\n1 1 9223372036854775807\n1 1 9223372036854775807\n"
    assert matrices.load(written(tmp_path / "A.mtx", text)).data == 2.0**64


def number_text(rng):
    """Texts near the limits of the fast paths: many digits, ties, extreme exponents."""
    kind = rng.randrange(4)
    if kind == 0:
        return repr(rng.uniform(-1, 1) * 10.0 ** rng.randint(-320, 300))
    if kind == 1:
        return f"{rng.getrandbits(rng.randint(1, 64))}{rng.choice('eEdD')}{rng.randint(-345, 285)}"
    if kind == 2:  # the middle of two neighbours, cut after 17 to 30 digits
        low = rng.getrandbits(52) + 2**52
        return (
            str((2 * low + 1) * 2 ** rng.randint(1, 60))[: rng.randint(17, 30)] + f"e{rng.randint(-300, 250)}"
        )
    return f"{rng.randint(0, 10**18)}.{rng.randint(0, 99)}{rng.choice('+-')}{rng.randint(0, 280)}"


def test_numbers_are_correctly_rounded():
    rng = random.Random(0)
    texts = [number_text(rng) for _ in range(20_000)]
    layout = entry_lines.Layout(False, 1, "real", 0, 0, len(texts))
    values = entry_lines.read_entry_lines(io.BytesIO("\n".join(texts).encode()), layout).values
    expected = np.array([real(text) for text in texts])
    differing = np.flatnonzero(values.view(np.int64) != expected.view(np.int64))
    assert not differing.size, texts[differing[0]]


BROKEN = {
    "more entries": (
        "coordinate real general\n2 2 1\n1 1 1\n\n2 2 5\n",
        "line 5: there are more than the 1 entries",
    ),
    "fewer entries": ("coordinate real general\n2 2 3\n1 1 1\n", "ends in line 3 with 1 of 3 entries"),
    "row outside": (
        "coordinate real general\n2 2 1\n3 1 1\n",
        "line 3: the row must lie in 1 to 2, got '3 1 1'",
    ),
    "row zero": ("coordinate real general\n2 2 1\n0 1 1\n", "line 3: the row must lie"),
    "column outside": (
        "coordinate real general\n2 2 1\n1 99999999999999999999 1\n",
        "line 3: the column must",
    ),
    "no index": ("coordinate real general\n2 2 1\n1.0 1 1\n", "line 3: expected a row and a column"),
    "signed index": ("coordinate real general\n2 2 1\n+1 1 1\n", "line 3: expected a row and a column"),
    "a value under pattern": ("coordinate pattern general\n2 2 1\n1 1 1\n", "line 3: expected 2 columns"),
    "one part of two": ("coordinate complex general\n2 2 1\n1 1 1\n", "line 3: expected 4 columns"),
    "two entries in a line": ("coordinate real general\n2 2 2\n1 1 1 2 2 2\n", "line 3: expected 3 columns"),
    "two values in a line": ("array real general\n1 2\n1 2\n", "line 3: expected 1 columns"),
    "a comment within": (
        "coordinate real general\n2 2 1\n% hello\n1 1 1\n",
        "line 3: expected a row and a column",
    ),
    "not square": ("coordinate real symmetric\n2 3 1\n1 1 1\n", "must be square"),
    "an array, not square": ("array real symmetric\n3 4\n" + "1\n" * 9, "must be square"),
    "a triangle too long": ("array real skew-symmetric\n2 2\n1\n2\n", "more than the 1 entries"),
    "a pattern array": ("array pattern general\n1 1\n1\n", "contradicts itself"),
    "unsigned and skew": ("coordinate unsigned-integer skew-symmetric\n1 1 0\n", "contradicts itself"),
    "NULs": ("coordinate real general\n2 2 1\n1 1 1\n\0\0\0", "line 4: there are more than"),
    "1e18 rows": (
        "coordinate real general\n1000000000000000000 1 1\n1 1 1\n",
        "rows with 1 entries are too many",
    ),
    "1e9 rows": ("coordinate real general\n1000000000 1000000000 1\n1 1 1\n", "at most 67108864 rows"),
    "1e18 entries": (
        "coordinate real general\n3 3 1000000000000000000\n1 1 1\n",
        "promises 1000000000000000000",
    ),
    "1e18 values": ("array real general\n1000000000 1000000000\n1\n", "promises 1000000000000000000"),
    "30 digits": (f"coordinate real general\n3 3 {'1' * 30}\n1 1 1\n", "the size line is"),
    "20 digits": (
        f"coordinate real general\n3 3 {'9' * 19}\n1 1 1\n",
        "expected at most 9223372036854775807",
    ),
    "other digits": ("coordinate real general\n3 1_0 0\n", "the size line is"),
    "a long comment": (f"coordinate real general\n%{' ' * 70000}\n1 1 0\n", "more than 65536 characters"),
    "a long line": (f"coordinate real general\n1 1 1\n1 1 {'1' * 70000}\n", "characters"),
}


@pytest.mark.parametrize(("body", "reason"), BROKEN.values(), ids=BROKEN)
def test_broken_files_say_what_is_wrong_where(body, reason, tmp_path):
    path = written(tmp_path / "A.mtx", f"{HEAD} {body}")
    with pytest.raises(ValueError, match=reason) as caught:
        matrices.load(path)
    assert str(path) in str(caught.value)


def test_a_file_cut_anywhere_is_refused_or_read_as_it_stands(tmp_path):
    """Cuts within numbers and behind blanks, and NULs that a full disk leaves behind."""
    text = f"{HEAD} coordinate real general\n2 2 3\n1 1 1.25e-3\n1 2 -2.5E+01 \n2 2 3.5D0\n".encode()
    for length in range(len(text)):
        for rest in (b"", b"\0", b" ", b"\0" * 40):
            path = written(tmp_path / "A.mtx", text[:length] + rest)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", ".*may be truncated")
                try:
                    A = matrices.load(path)
                except ValueError as error:
                    assert str(path) in str(error)
                    continue
            assert_equals_oracle(A, text[:length] + rest)


def kinds():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((4, 4)) * 10.0 ** rng.integers(-300, 300, (4, 4)) * (rng.random((4, 4)) < 0.7)
    lower, whole = np.tril(A, -1), (1e3 * rng.standard_normal((4, 4))).astype(np.int64)
    yield "general", A
    yield "symmetric", lower + lower.T
    yield "skew-symmetric", lower - lower.T
    yield "general", A * (1 + 2j)
    yield "hermitian", lower * 1j + (lower * 1j).conj().T + np.diag(A.diagonal())
    yield "general", whole
    yield "symmetric", whole + whole.T
    yield "general", np.abs(whole).astype(np.uint64)


@pytest.mark.parametrize(("symmetry", "dense"), list(kinds()))
@pytest.mark.parametrize(
    ("form", "field"), [(np.asarray, None), (sp.coo_array, None), (sp.coo_array, "pattern")]
)
def test_files_of_scipy_are_read_to_the_same_bits(symmetry, dense, form, field):
    buffer = io.BytesIO()
    scipy.io.mmwrite(buffer, form(dense), symmetry=symmetry, field=field)
    A, B = (read(io.BytesIO(buffer.getvalue())) for read in (matrix_market.read_entries, scipy.io.mmread))
    assert A.dtype == B.dtype and A.shape == B.shape
    if form is np.asarray:
        np.testing.assert_array_equal(A, B)  # SciPy drops the sign of zeros
        return
    for ours, theirs in [(A.row, B.row), (A.col, B.col), (A.data, B.data)]:
        assert ours.dtype == theirs.dtype and ours.tobytes() == theirs.tobytes()


@pytest.mark.slow
def test_real_matrices_are_read_to_the_same_bits():
    if matrices_folder() is None:
        pytest.skip("LINFOREST_MATRICES is not set")
    for path in sorted(matrices_folder().glob("*.mtx.gz")):
        A, B = matrix_market.read_entries(path), scipy.io.mmread(path)
        assert A.shape == B.shape and A.data.tobytes() == B.data.tobytes(), path
        assert np.array_equal(A.row, B.row) and np.array_equal(A.col, B.col), path


def test_many_numbers_that_the_fast_paths_leave_undecided(tmp_path):
    """More of them than fit into one batch, in pieces of text that end anywhere."""
    count = 3 * entry_lines.BATCH + 5
    values = [f"0.{k:030d}" for k in range(count)]
    lines = "".join(f"{k + 1} 1 {value}\n" for k, value in enumerate(values))
    A = matrices.load(
        written(tmp_path / "A.mtx", f"{HEAD} coordinate real general\n{count} 1 {count}\n{lines}")
    )
    np.testing.assert_array_equal(A.data, [float(value) for value in values])


def test_pieces_end_anywhere(monkeypatch):
    text = f"{HEAD} coordinate complex general\n2 2 3\n1 1 1.25 2\n\n1 2 -2.5E+01 0\n2 2 3.5D0 1\n".encode()
    for length in range(1, 30):
        monkeypatch.setattr(entry_lines, "CHUNK", length)
        A = matrix_market.read_entries(io.BytesIO(text))
        np.testing.assert_array_equal(A.toarray(), [[1.25 + 2j, -25], [0, 3.5 + 1j]])


def test_many_rows_need_many_entries():
    bounded_streams.check_rows(bounded_streams.MOST_ROWS, 0)
    bounded_streams.check_rows(2**28, 2**24)
    with pytest.raises(ValueError, match="too many"):
        bounded_streams.check_rows(2**28 + 1, 2**24)


def test_too_little_memory_names_the_file(tmp_path, monkeypatch):
    def fail(*_):
        raise MemoryError("Unable to allocate")

    path = written(tmp_path / "A.mtx", f"{HEAD} coordinate real general\n2 2 1\n2 2 1\n")
    monkeypatch.setattr(backend_named("cpu").matrix.entry_text, "scan_entries", fail)
    with pytest.raises(MemoryError, match=r"A\.mtx cannot be read: there is not enough memory"):
        matrices.load(path)


WITHOUT_NUMBA = """
import sys
from linforest_precond import matrices
A = matrices.load(sys.argv[1])
print(A.data.tolist())
"""


@pytest.mark.slow
def test_without_compilation(tmp_path):
    texts = ["1.5D+03", "0.1234567890123456", "-2.2250738585072014e-308", "7", "123456789012345678e-5"]
    lines = "".join(f"{k + 1} 1 {text}\n" for k, text in enumerate(texts))
    path = written(
        tmp_path / "A.mtx", f"{HEAD} coordinate real general\n{len(texts)} 1 {len(texts)}\n{lines}"
    )
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-W", "error::RuntimeWarning", "-c", WITHOUT_NUMBA, path]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == str([real(text) for text in texts])


@pytest.mark.parametrize(
    ("banner", "entries", "words"),
    [
        (
            "coordinate complex hermitian",
            "2 2 2\n1 1 1 5\n2 1 1 1\n",
            "hermitian matrix must be real, got .1.5j",
        ),
        ("array complex hermitian", "2 2\n1 5\n1 1\n2 0\n", "hermitian matrix must be real, got .1.5j"),
        ("coordinate real skew-symmetric", "2 2 2\n2 2 3\n2 1 1\n", "must be zero, got 3.0"),
        ("coordinate pattern skew-symmetric", "1 1 1\n1 1\n", "must be zero, got 1.0"),
    ],
)
def test_diagonals_that_contradict_the_banner(tmp_path, banner, entries, words):
    path = tmp_path / "A.mtx"
    path.write_text(f"%%MatrixMarket matrix {banner}\n{entries}")
    with pytest.raises(ValueError, match=f"A.mtx .*{words}.*stored as general"):
        matrices.load(path)
