"""Matrix files that are truncated, changed and forged: they are refused by name, or read right.

Every case is a small file. `load` raises a ValueError that names it, or returns a valid matrix; where the
text is Matrix Market, it reads exactly what `matrix_market_oracle` reads.
"""

import bz2
import gzip
import io
import tarfile
import warnings
import zipfile

import numpy as np
import scipy.io
import scipy.sparse as sp
from file_seeds import (
    BANNERS,
    BOEING_WORDS,
    NPY_CHANGES,
    NUMBERS,
    PAX_HEADERS,
    SIZES,
    WORDS,
    boeing_seeds,
    matrix_market_seeds,
)
from matrix_market_oracle import Refused, assert_equals_oracle, read_oracle

from linforest_precond import matrices

# Name of a class: cases in a quick run, cases in a full run.
CLASSES = {
    "mtx truncated": (40, 12_000),
    "mtx bytes changed": (50, 16_000),
    "mtx tokens changed": (75, 20_000),
    "mtx sizes": (40, 12_000),
    "compressed": (40, 10_000),
    "tar headers": (25, 5_000),
    "rb": (40, 9_000),
    "npz": (25, 6_000),
    "npz arrays": (25, 4_000),
    "mat": (40, 6_000),
}
LIMIT_SECONDS = 120.0


def prepare(folder):
    """Valid files of every format: {suffix: list of bytes}."""
    seeds = matrix_market_seeds()
    return {
        ".mtx": seeds,
        ".rb": boeing_seeds(),
        ".npz": [saved(format, compressed) for format in FORMATS for compressed in (False, True)],
        ".mat": [*mat_seeds()],
    }


def run_case(prepared, name, rng, folder):
    """Run one case of a class; returns "read" or "refused"."""
    return CASES[name](prepared, rng, folder)


def run_file(path):
    """Load a case of the corpus."""
    text = path.read_bytes() if path.suffix == ".mtx" else None
    return load(path, text)


def load(path, text=None):
    """The promise: refused by name or a valid matrix, and what the oracle reads of a Matrix Market text."""
    try:
        A = quietly(path)
    except ValueError as error:
        assert str(path) in str(error), f"the file is not named: {error}"
        assert text is None or oracle_refuses(text), f"refused although sound: {error}"
        return "refused"
    assert_is_valid(A)
    if text is not None:
        assert_equals_oracle(A, text)
    return "read"


def quietly(path):
    """Load a file; the one warning that it may give is that its last line has no end."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*does not end with a line break")
        return matrices.load(path)


def oracle_refuses(text):
    try:
        read_oracle(text)
    except Refused:
        return True
    return False


def assert_is_valid(A):
    """CSR with increasing columns in every row."""
    assert A.format == "csr" and A.dtype in (np.float64, np.complex128)
    assert (
        A.indptr.size == A.shape[0] + 1 and A.indptr[0] == 0 and A.indptr[-1] == A.indices.size == A.data.size
    )
    assert (np.diff(A.indptr) >= 0).all()
    if A.nnz:
        assert A.indices.min() >= 0 and A.indices.max() < A.shape[1]
        rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
        assert ((np.diff(rows) > 0) | (np.diff(A.indices) > 0)).all()


def written(folder, name, data):
    path = folder / name
    path.write_bytes(data)
    return path


def pick(rng, items):
    return items[int(rng.integers(len(items)))]


def truncated(data, rng):
    return data[: int(rng.integers(len(data) + 1))]


def bytes_changed(data, rng, alphabet=None, start=0):
    """A few bytes replaced, inserted or removed, from `start` on."""
    changed = bytearray(data)
    for _ in range(pick(rng, (1, 1, 1, 2, 3))):
        at = int(rng.integers(min(start, len(changed)), len(changed) + 1))
        byte = int(rng.integers(256)) if alphabet is None or rng.random() < 0.1 else pick(rng, alphabet)
        kind = rng.integers(4)
        changed[at : at + (1 if kind < 2 else int(kind == 3))] = bytes([byte]) if kind < 3 else b""
    return bytes(changed)


def mtx_truncated(prepared, rng, folder):
    text = truncated(pick(rng, prepared[".mtx"]), rng) + pick(
        rng, (b"", b"", b"\0", b"\0" * 9, b" ", b"\r", b"e-")
    )
    return load(written(folder, "A.mtx", text), text)


def mtx_bytes_changed(prepared, rng, folder):
    text = pick(rng, prepared[".mtx"])
    start = pick(rng, (0, text.index(b"\n"), text.index(b"\n"), len(text) // 2))
    text = bytes_changed(text, rng, b"0123456789+-.eEdD \t\r\n%\0,", start)
    return load(written(folder, "A.mtx", text), text)


def mtx_tokens_changed(prepared, rng, folder):
    lines = pick(rng, prepared[".mtx"]).decode("latin-1").split("\n")
    for _ in range(int(rng.integers(1, 3))):
        change_tokens(lines, rng)
    text = "\n".join(lines).encode("latin-1")
    return load(written(folder, "A.mtx", text), text)


def change_tokens(lines, rng):
    """Another number, banner, line or order of lines."""
    at, kind = int(rng.integers(len(lines))), rng.integers(8)
    words = lines[at].split(" ")
    if kind < 4:
        words[int(rng.integers(len(words)))] = pick(rng, NUMBERS)
        lines[at] = " ".join(words)
    elif kind == 4:
        lines[0] = pick(rng, BANNERS)
    elif kind == 5:
        lines.insert(at, pick(rng, ("", " ", "% comment", lines[at], "1 1 1", "\t")))
    elif kind == 6:
        del lines[at]
    else:
        lines[at] += pick(rng, (" ", " 1", "\t2.5", " %", "\r", "\0"))


def mtx_sizes(prepared, rng, folder):
    lines = pick(rng, prepared[".mtx"]).decode().split("\n")
    at = next(k for k, line in enumerate(lines) if not line.startswith("%") and line.strip())
    words = lines[at].split()
    for _ in range(int(rng.integers(1, 3))):
        words[int(rng.integers(len(words)))] = pick(rng, SIZES)
    lines[at] = " ".join(words)
    text = "\n".join(lines).encode()
    return load(written(folder, "A.mtx", text), text)


def compressed(prepared, rng, folder):
    """A container that was damaged holds the text as it was, or is refused."""
    text = pick(rng, prepared[".mtx"])
    if rng.random() < 0.02:
        text += b"\n" * 100_000
    suffix = pick(rng, (".mtx.gz", ".mtx.bz2", ".tar.gz"))
    data = {".mtx.gz": gzip.compress, ".mtx.bz2": bz2.compress, ".tar.gz": packed}[suffix](text)
    kind = rng.integers(4)
    if kind == 0:
        data, text = truncated(data, rng), text
    elif kind == 1:
        data = bytes_changed(data, rng)
    elif kind == 2:
        data += pick(rng, (b"garbage", bytes(600), data[:20]))
    return load_container(written(folder, f"A{suffix}", data), text)


def load_container(path, text):
    """As `load`, where the file may be refused for its container's sake."""
    outcome = load(path)
    if outcome == "read":
        assert_equals_oracle(quietly(path), text)
    return outcome


def packed(text):
    return gzip.compress(tar_of(text))


def tar_of(text, name="A/A.mtx", format=tarfile.USTAR_FORMAT, pax_headers=None):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=format) as archive:
        info = tarfile.TarInfo(name)
        info.size, info.pax_headers = len(text), pax_headers or {}
        archive.addfile(info, io.BytesIO(text))
    return buffer.getvalue()


def tar_headers(prepared, rng, folder):
    """Changed headers, with and without the right checksum, and pax headers of any length and content."""
    text = pick(rng, prepared[".mtx"])
    data = bytearray(tar_of(text, "A/A.mtx"))
    at = int(rng.integers(512))
    data[at] = pick(rng, b"\0\x80\xff0719 xgLS=")
    if rng.random() < 0.7:
        data[148:156] = b"%06o\0 " % (sum(data[:512]) - sum(data[148:156]) + 256)
    if rng.random() < 0.6:
        data = pax_header(rng) + data
    return load_container(written(folder, "A.tar.gz", gzip.compress(bytes(data))), text)


def pax_header(rng):
    content = pick(rng, PAX_HEADERS)
    info = tarfile.TarInfo("pax")
    info.type, info.size = pick(rng, (b"x", b"x", b"g", b"L", b"X")), len(content)
    return info.tobuf(tarfile.USTAR_FORMAT) + content.ljust(-(-len(content) // 512) * 512, b"\0")


def boeing(prepared, rng, folder):
    text = pick(rng, prepared[".rb"])
    kind = rng.integers(4)
    if kind == 0:
        text = truncated(text, rng)
    elif kind == 1:
        text = bytes_changed(text, rng, b"0123456789+-.EDI() \n\0")
    else:
        lines = text.decode().split("\n")
        for _ in range(int(rng.integers(1, 3))):
            change_words(lines, rng)
        text = "\n".join(lines).encode()
    suffix = pick(rng, (".rb", ".rb.gz"))
    return load(written(folder, f"A{suffix}", gzip.compress(text) if suffix == ".rb.gz" else text))


def change_words(lines, rng):
    """Another format, size or number in place of a word, whose width is kept where it fits."""
    at = int(rng.integers(2, min(len(lines), 8)))
    words = lines[at].split()
    if words:
        new = pick(rng, BOEING_WORDS)
        old = pick(rng, words)
        lines[at] = lines[at].replace(old, new.rjust(len(old)), 1)


FORMATS = ("csr", "csc", "coo", "bsr", "dia")


def saved(format, compressed):
    A = sp.coo_array(np.diag([1.0, 2, 3, 4]) + np.diag([5.0, 6], 2)).asformat(format)
    buffer = io.BytesIO()
    sp.save_npz(buffer, A, compressed=compressed)
    return buffer.getvalue()


def npz(prepared, rng, folder):
    """Changed bytes of the archive; a third of them in the headers of its arrays, with a right checksum."""
    data = pick(rng, prepared[".npz"])
    kind = rng.integers(3)
    data = (
        truncated(data, rng) if kind == 0 else bytes_changed(data, rng) if kind == 1 else repacked(data, rng)
    )
    return load(written(folder, "A.npz", data))


def repacked(data, rng):
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        changed = pick(rng, old.namelist())
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, header_changed(content, rng) if name == changed else content)
    return buffer.getvalue()


def header_changed(content, rng):
    old, new = pick(rng, NPY_CHANGES)
    return content.replace(old, new, 1) if old in content else bytes_changed(content, rng)


INDEX_TYPES = (np.int32, np.int64, np.int8, np.uint64, np.float64)


def npz_arrays(prepared, rng, folder):
    """Index arrays drawn at random, of any length and type, in a file that is sound otherwise."""
    format = pick(rng, FORMATS)
    entries, shape = int(rng.integers(4)), rng.integers(0, 4, 2)
    data = rng.standard_normal(entries)
    if format in ("bsr", "dia"):
        data = data.reshape(pick(rng, ((-1, 1, 1), (entries, 1), (1, -1))))
    names = {"coo": ("row", "col"), "dia": ("offsets",)}.get(format, ("indices", "indptr"))
    arrays = {name: indices(rng, entries, shape, name) for name in names}
    path = folder / "A.npz"
    np.savez(path, format=np.array(format.encode()), shape=shape, data=data, **arrays)
    return load(path)


def indices(rng, entries, shape, name):
    values = rng.integers(0, 3, int(shape[0]) + 1 if name == "indptr" else entries)
    if name == "indptr":
        values = np.sort(values) - (values.min() if values.size else 0)
    if rng.random() < 0.3 and values.size:
        values[int(rng.integers(values.size))] = pick(rng, (-1, 10**8, 2**31, 2**62, -(2**63), 7))
    with np.errstate(all="ignore"):
        return values.astype(pick(rng, INDEX_TYPES) if rng.random() < 0.3 else np.int32)


def mat_seeds():
    A = sp.csc_matrix(np.diag([1.0, 2, 3]) + np.diag([4.0], 2))
    contents = ({"A": A}, {"Problem": {"name": "x", "A": A, "b": np.ones(3)}}, {"b": np.ones(2), "A": A * 1j})
    for content in contents:
        for options in ({"do_compression": True}, {}, {"format": "4"}):
            if "format" in options and "Problem" in content:
                continue
            buffer = io.BytesIO()
            scipy.io.savemat(buffer, content, **options)
            yield buffer.getvalue()


def mat(prepared, rng, folder):
    """Changed bytes, or one of the 32-bit words of which tags, flags and dimensions consist."""
    data = pick(rng, prepared[".mat"])
    kind = rng.integers(4)
    if kind < 2:
        data = truncated(data, rng) if kind == 0 else bytes_changed(data, rng)
    else:
        words = np.frombuffer(data[: len(data) // 4 * 4], "<u4").copy()
        words[int(rng.integers(min(20, words.size) if kind == 2 else words.size))] = pick(rng, WORDS)
        data = words.tobytes()
    return load(written(folder, "A.mat", data))


CASES = {
    "mtx truncated": mtx_truncated,
    "mtx bytes changed": mtx_bytes_changed,
    "mtx tokens changed": mtx_tokens_changed,
    "mtx sizes": mtx_sizes,
    "compressed": compressed,
    "tar headers": tar_headers,
    "rb": boeing,
    "npz": npz,
    "npz arrays": npz_arrays,
    "mat": mat,
}
