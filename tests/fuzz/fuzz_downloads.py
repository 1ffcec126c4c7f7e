"""Archives of the collection: damaged, cut, contradicting the index, or sent by a failing server.

Promises: a download gives the right matrix, or one error that names the matrix and its archive. Afterwards
the cache has no file under the final name unless it is whole, and no temporary file. The next call succeeds
once the server is healthy.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import tarfile
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from collection_server import CollectionServer, index_line, index_text, pack

from linforest_precond import matrices
from linforest_precond.matrices.download import fetch, pace
from linforest_precond.matrices.download.places import MatrixNotAvailable
from linforest_precond.matrices.readers import archive

CLASSES = {"archives from the collection": (60, 2000)}
LIMIT_SECONDS = 120.0
# Limits of time, and of the other members of an archive, small enough for thousands of cases.
LIMITS = [
    (fetch, "TIMEOUT_SECONDS", 0.15), (pace, "WINDOW_SECONDS", 0.1), (pace, "MOST_SECONDS", 1.0),
    (archive, "REST_BYTES", 1 << 16),
]  # fmt: skip
FULL_NAME, NAME = "HB/fuzzed", "fuzzed"
WORDS = (
    b"",
    b"x",
    b"1e",
    b"1e-",
    b"-",
    b"+.",
    b"1..5",
    b"0x1",
    b"1,5",
    b"1_0",
    b"--1",
    b"\x00",
    b"1\x00",
    b"\xff",
)


class Matrix(NamedTuple):
    """A matrix as the collection has it: its text, its line in the index, and its values."""

    text: bytes
    line: str
    dense: np.ndarray


SMALL = Matrix(
    b"%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 4.25\n2 1 -1\n2 2 2.125e-1\n",
    index_line(FULL_NAME, 2, 2, 3),
    np.array([[4.25, 0], [-1, 0.2125]]),
)


class Response(NamedTuple):
    """What the server sends, and how."""

    body: bytes
    options: dict[str, Any]


@functools.cache
def local_server() -> CollectionServer:
    """The server in place of the collection, for as long as this process runs."""
    server = CollectionServer().__enter__()
    os.environ.update(no_proxy="127.0.0.1", LINFOREST_OFFLINE="0", LINFOREST_SUITESPARSE=server.address)
    os.environ.pop("LINFOREST_MATRICES", None)
    return server


def prepare(folder: Path) -> CollectionServer:
    """A local server; the first download compiles what reading needs."""
    matrix = draw_matrix(np.random.default_rng(0))
    serve(local_server(), matrix, Response(packed(matrix.text), {}), folder)
    assert load(folder, matrix) == "read"
    return local_server()


def run_case(server: CollectionServer, name: str, rng: np.random.Generator, folder: Path) -> str:
    """One damaged download, and a healthy one after it."""
    matrix = draw_matrix(rng)
    damage = DAMAGES[int(rng.integers(len(DAMAGES)))]
    return check(server, matrix, damage(matrix, rng), folder)


def run_file(path: Path) -> str:
    """A damaged text of a 2 x 2 matrix in a consistent archive, then in the cache of an earlier version."""
    text = path.read_bytes()
    with tempfile.TemporaryDirectory() as name:
        outcome = check(local_server(), SMALL, Response(packed(text), {}), Path(name))
        assert outcome == "refused", f"{path.name} was taken for whole"
        (Path(name) / "HB" / f"{NAME}.mtx").write_bytes(text)
        assert load(Path(name), SMALL) == "read", "a damaged file in the cache was not replaced"
    return outcome


def check(server: CollectionServer, matrix: Matrix, response: Response, folder: Path) -> str:
    """Download from a failing server, then from a healthy one."""
    serve(server, matrix, response, folder)
    with small_limits():
        outcome = load(folder, matrix)
    target = folder / "HB" / f"{NAME}.mtx"
    assert outcome == "read" or not target.exists(), "a damaged file got the final name"
    assert not list(folder.rglob("*.tmp")), "a temporary file was left"
    serve(server, matrix, Response(packed(matrix.text), {"etag": '"healthy"'}), folder)
    assert load(folder, matrix) == "read", "the next call did not succeed"
    assert sorted(os.listdir(folder / "HB")) == [f"{NAME}.mtx"]
    return outcome


def serve(server: CollectionServer, matrix: Matrix, response: Response, folder: Path) -> None:
    (folder / "ssstats.csv").write_bytes(index_text(matrix.line))
    server.serve(FULL_NAME, response.body, **response.options)


def load(folder: Path, matrix: Matrix) -> str:
    """Load the matrix and verify it, or the error."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stderr(printed), warnings.catch_warnings():
            warnings.simplefilter("error")
            A = matrices.load(FULL_NAME, cache=folder)
    except MatrixNotAvailable as error:
        assert f"{FULL_NAME}.tar.gz" in str(error), f"the error does not name the archive: {error}"
        return "refused"
    assert all(char.isprintable() or char == "\n" for char in printed.getvalue())
    np.testing.assert_array_equal(A.toarray(), matrix.dense)
    return "read"


@contextlib.contextmanager
def small_limits() -> Iterator[None]:
    before = [getattr(module, name) for module, name, _ in LIMITS]
    for module, name, limit in LIMITS:
        setattr(module, name, limit)
    try:
        yield
    finally:
        for (module, name, _), limit in zip(LIMITS, before):
            setattr(module, name, limit)


def draw_matrix(rng: np.random.Generator) -> Matrix:
    """A small general or symmetric matrix with an author, and values of many digits."""
    n, symmetric = int(rng.integers(1, 9)), bool(rng.integers(2))
    pattern = rng.random((n, n)) < 0.4
    pattern = np.tril(pattern) if symmetric else pattern
    pattern[0, 0] = True
    rows, columns = np.nonzero(pattern)
    values = rng.standard_normal(rows.size)
    dense = np.zeros((n, n))
    dense[rows, columns] = values
    if symmetric:
        dense[columns, rows] = values
    kind = "symmetric" if symmetric else "general"
    lines = [f"%%MatrixMarket matrix coordinate real {kind}", f"% name: {FULL_NAME}", "% author: \x1b[2J\x9b"]
    lines += [
        f"{n} {n} {rows.size}",
        *(f"{i + 1} {j + 1} {x!r}" for i, j, x in zip(rows, columns, values.tolist())),
    ]
    nnz = np.count_nonzero(dense)
    line = index_line(FULL_NAME, n, n, nnz, symmetric=symmetric)
    return Matrix("\n".join([*lines, ""]).encode("latin-1"), line, dense)


def packed(text: bytes) -> bytes:
    return pack([(f"{NAME}/{NAME}.mtx", text)])


def healthy(matrix: Matrix, rng: np.random.Generator) -> Response:
    return Response(packed(matrix.text), {})


def cut_archive(matrix: Matrix, rng: np.random.Generator) -> Response:
    body = packed(matrix.text)
    return Response(body[: rng.integers(len(body))], {})


def flipped_bits(matrix: Matrix, rng: np.random.Generator) -> Response:
    body = bytearray(packed(matrix.text))
    for place in rng.integers(len(body), size=rng.integers(1, 4)):
        body[place] ^= 1 << int(rng.integers(8))
    return Response(bytes(body), {})


def cut_text(matrix: Matrix, rng: np.random.Generator) -> Response:
    """At any byte, more often near the end, where numbers are."""
    size = len(matrix.text)
    most = size if rng.integers(2) else min(size, 30)
    return Response(packed(matrix.text[: size - int(rng.integers(1, most + 1))]), {})


def cut_last_number(matrix: Matrix, rng: np.random.Generator) -> Response:
    """Within the digits of the last value, where the rest is still a number."""
    digits = len(matrix.text.split()[-1])
    return Response(packed(matrix.text[: -1 - int(rng.integers(0, digits))]), {})


def bad_word(matrix: Matrix, rng: np.random.Generator) -> Response:
    """A word of an entry that is no number, or an index outside the matrix."""
    head, *lines = split(matrix.text)
    place = int(rng.integers(len(lines)))
    words = lines[place].split()
    column = int(rng.integers(3))
    outside = (b"0", b"-1", b"10", b"2147483648", b"9" * 30)
    choices = WORDS + outside if column < 2 else WORDS
    words[column] = choices[int(rng.integers(len(choices)))]
    lines[place] = b" ".join(words)
    return Response(packed(joined(head, lines)), {})


def wrong_lines(matrix: Matrix, rng: np.random.Generator) -> Response:
    """An entry too many, too few, or a different number of columns."""
    head, *lines = split(matrix.text)
    place = int(rng.integers(len(lines)))
    action = int(rng.integers(4))
    if action == 0:
        del lines[place]
    elif action == 1:
        lines.insert(place, b"1 1 1.0")
    elif action == 2:
        lines[place] += b" 7"
    else:
        lines[place] = b" ".join(lines[place].split()[:2])
    return Response(packed(joined(head, lines)), {})


def wrong_sizes(matrix: Matrix, rng: np.random.Generator) -> Response:
    """Sizes that contradict the index."""
    head, *lines = split(matrix.text)
    *above, sizes = head.split(b"\n")
    numbers = [int(word) for word in sizes.split()]
    choices = (numbers[0] + 1, 10**9, 10**18, 10**30, 0, -1)
    numbers[int(rng.integers(3))] = choices[int(rng.integers(len(choices)))]
    if numbers == [int(word) for word in sizes.split()]:
        numbers[0] += 1
    sizes = " ".join(map(str, numbers)).encode()
    return Response(packed(joined(b"\n".join([*above, sizes]), lines)), {})


def hostile_members(matrix: Matrix, rng: np.random.Generator) -> Response:
    """Links, devices, wrong names, other files, and a member that is too long."""
    info = tarfile.TarInfo(f"{NAME}/{NAME}.mtx")
    kinds = (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE)
    info.type, info.linkname = kinds[int(rng.integers(len(kinds)))], "../../../etc/passwd"
    good = (f"{NAME}/{NAME}.mtx", matrix.text)
    choices: tuple[list[Any], ...] = (
        [info], [info, good], [(f"../{NAME}.mtx", matrix.text)], [(f"{NAME}/{NAME}_b.mtx", b"x"), good], [],
        [(f"{NAME}/zeros", bytes(1 << 20)), good], [(good[0], matrix.text + b" " * (1 << 21))],
    )  # fmt: skip
    return Response(pack(choices[int(rng.integers(len(choices)))]), {})


def broken_connection(matrix: Matrix, rng: np.random.Generator) -> Response:
    """Cut once or always, at random places, with or without what is needed to resume."""
    body = packed(matrix.text)
    cuts = tuple(int(place) for place in rng.integers(len(body), size=rng.integers(1, 5)))
    etag = ('"v1"', None, 'W/"weak"')[int(rng.integers(3))]
    return Response(body, {"cuts": cuts, "etag": etag, "ranges": bool(rng.integers(2))})


def slow_connection(matrix: Matrix, rng: np.random.Generator) -> Response:
    """A few bytes at a time, or a pause for longer than the limit."""
    choices = ({"drip": (2, 0.02)}, {"drip_headers": 0.02}, {"cuts": (30, 30, 30, 30), "stall": 1.0})
    return Response(packed(matrix.text), choices[int(rng.integers(len(choices)))])


def hostile_headers(matrix: Matrix, rng: np.random.Generator) -> Response:
    body = packed(matrix.text)
    choices: tuple[dict[str, Any], ...] = (
        {"headers": {"Content-Length": str(len(body) + 7)}},
        {"headers": {"Content-Length": str(len(body) - 7)}},
        {"headers": {"Content-Length": "9" * 30}}, {"headers": {"Content-Length": "-1"}},
        {"headers": {"Content-Length": "\u00b2"}}, {"headers": {"ETag": '"\u00ff\x1b"'}, "cuts": (20, 40)},
        {"headers": {"Content-Range": "bytes 5-9/10"}, "status": 206}, {"length": False},
        {"length": False, "cuts": (50,)}, {"status": 404, "reason": "\x1b[2J"}, {"status": 500},
        {"status": 302, "location": "file:///etc/passwd"},
        {"status": 302, "location": f"/MM/{FULL_NAME}.tar.gz"}, {"headers": {"Transfer-Encoding": "chunked"}},
    )  # fmt: skip
    return Response(body, choices[int(rng.integers(len(choices)))])


def split(text: bytes) -> list[bytes]:
    """The header with the sizes, and the lines of entries."""
    lines = text.split(b"\n")[:-1]
    return [b"\n".join(lines[:4]), *lines[4:]]


def joined(head: bytes, lines: list[bytes]) -> bytes:
    return b"\n".join([head, *lines, b""])


DAMAGES: tuple[Callable[[Matrix, np.random.Generator], Response], ...] = (
    healthy, cut_archive, flipped_bits, cut_text, cut_last_number, bad_word, wrong_lines, wrong_sizes,
    hostile_members, broken_connection, hostile_headers, cut_archive, flipped_bits, cut_text, cut_last_number,
    bad_word, wrong_lines, wrong_sizes, hostile_members, broken_connection, hostile_headers, slow_connection,
)  # fmt: skip
