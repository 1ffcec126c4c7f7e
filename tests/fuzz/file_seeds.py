"""Valid files that the fuzzer of files changes, and what it puts into them."""

import io

import numpy as np
import scipy.io
import scipy.sparse as sp

HEAD = "%%MatrixMarket matrix"
BANNERS = [
    f"{HEAD} {format} {field} {symmetry}"
    for format in ("coordinate", "array", "vector")
    for field in ("real", "double", "integer", "unsigned-integer", "complex", "pattern", "quaternion")
    for symmetry in ("general", "symmetric", "skew-symmetric", "hermitian")
] + ["%MatrixMarket matrix coordinate real general", HEAD, ""]


# In place of a number in a text.
NUMBERS = [
    *"1.5D+03 1,75 1.0-100 1.0+5 1e 1e- e5 - + . nan NaN -inf Infinity nan(5) +1 -0 0x10 1_0 00012".split(),
    *"1.2.3 1f 1e5f % %1 2 3 0 -1 1.9 1d5 1q5 1e+0005 1e999 -1e999 1e-999 4e-324 1e22 1e23 0.1".split(),
    *"9007199254740993 2.4703282292062327e-324 123456789012345678901234567890 8.98846567431158e307".split(),
    *"99999999999999999999 1.7976931348623159e308 9223372036854775807 -9223372036854775808".split(),
    *("9223372036854775808", "18446744073709551615", ""),
    *("\0", "1\0", "\x0c", "1\x0b", "\xa01", "\xb2", "1\r1"),
]
# In place of a size.
SIZES = [
    *"0 1 2 3 4 5 7 -1 1000000 1000000000 2147483647 2147483648 4294967296 1000000000000000000 1.0 x".split(),
    *("9223372036854775807", "9223372036854775808", "1" * 30, "1e3", ""),
]
# In place of a 32-bit word of a MATLAB file: types, classes, lengths.
WORDS = (0, 1, 2, 3, 5, 6, 7, 9, 14, 15, 127, 128, 255, 2**16, 2**24, 2**28, 2**31 - 1, 2**31, 2**32 - 1)
BOEING_WORDS = [
    *"(1I999999999) (999999999I1) (0I5) (4I0) (1P,3E26.16) (I3) I3 (3I3)".split(),
    *("1.5-100", "nan", "rua", "cha", "psa", "iza", *SIZES),
]
PAX_HEADERS = [
    *(b"1" * 70_000, b"9" * 5_000, bytes(600), b"=" * 600, b"", b"99999999 a=b\n", b"12 size=999\n"),
    *(b"20 path=A/A.mtx\n", b"16 path=A/A.mtx\n", b"30 GNU.sparse.major=1\n"),
]
NPY_CHANGES = [
    *((b"(4,)", b"(9999999999999,)"), (b"<f8", b"<f4"), (b"<f8", b"|O8"), (b"<i4", b"<u8"), (b"<i8", b"<i2")),
    *((b"<i4", b"<f4"), (b"False", b"True"), (b"{", b"[" * 999)),
]


def matrix_market_seeds():
    """Every kind of file, by hand and by SciPy."""
    coordinate = {
        "real general": "2 3 3\n2 3 1.5\n1 1 -2.25e-3\n1 2 1E5\n",
        "real symmetric": "% comment\n\n3 3 4\n1 1 2\n2 1 -1.0\n2 2 0\n3 3 .5\n",
        "real skew-symmetric": "2 2 1\n2 1 3\n",
        "complex hermitian": "2 2 2\n1 1 1 0\n2 1 2 3e-5\n",
        "complex general": "1 2 2\n1 2 0 -1\n1 1 1.25 7.5\n",
        "pattern symmetric": "3 3 3\n2 1\n3 3\n3 2\n",
        "integer general": "2 2 4\n1 2 -7\n1 1 3\n1 2 5\n2 2 123456789\n",
        "unsigned-integer general": "1 2 2\n1 2 7\n1 1 18446744073709551615\n",
        "double general": " 2  2 2 \r\n 1\t1 1.5D+03\r\n\r\n 2 2 1.25-100 \r\n",
    }
    arrays = {
        "real general": "2 2\n1.5\n0\n3\n4\n",
        "real symmetric": "2 2\n1\n2.5\n3\n",
        "real skew-symmetric": "3 3\n1\n2\n3\n",
        "complex hermitian": "2 2\n1 0\n2 1\n3 0\n",
        "integer general": "1 3\n1\n-2\n3\n",
    }
    texts = [f"{HEAD} coordinate {kind}\n{body}".encode() for kind, body in coordinate.items()]
    texts += [f"{HEAD} array {kind}\n{body}".encode() for kind, body in arrays.items()]
    return texts + [_of_scipy(np.float64), _of_scipy(np.complex128)]


def _of_scipy(dtype):
    A = sp.random_array((5, 4), density=0.4, rng=np.random.default_rng(1)).astype(dtype)
    buffer = io.BytesIO()
    scipy.io.mmwrite(buffer, A * (1 - 2j) if dtype == np.complex128 else A)
    return buffer.getvalue()


def boeing_seeds():
    """Rutherford-Boeing files of a 3 x 3 matrix: real, complex, pattern, in fixed width."""
    return [
        _boeing("rua", "(3E16.8)", [_line("16.8E", 3), _line("16.8E", 2)]),
        _boeing("rsa", "(5F8.2)", [_line("8.2f", 5)]),
        _boeing("cza", "(4D12.3)", [_line("12.3E", count).replace("E", "D") for count in (4, 4, 2)]),
        _boeing("psa", "", []),
    ]


def _line(form, count):
    return "".join(format(value, form) for value in [2.0, -1.0, 0.5e-7, 4.0, 1.25][:count])


def _boeing(kind, form, values):
    head = f"{'title':<72}{'key':<8}\n{2 + len(values):14d}{1:14d}{1:14d}{len(values):14d}\n"
    sizes = f"{kind:<14}{3:14d}{3:14d}{5:14d}{0:14d}\n{'(4I3)':<16}{'(5I2)':<16}{form:<20}\n"
    return (head + sizes + "\n".join(["  1  4  5  6", " 1 2 3 2 3", *values, ""])).encode()
