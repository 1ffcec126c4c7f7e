"""Text files of packets, vectors and sets, and the case files of a study, written by others.

Promise: a ValueError that names the file, or exactly what a slow and literal reader finds. A case file is
believed with its own contents alone; else a warning names it.
"""

import gzip
import json
import re
import tracemalloc
import warnings

import numpy as np

from linforest_precond.app.commands.vectors import read_vector
from linforest_precond.backends.cpu.runtime import calibration
from linforest_precond.backends.cpu.similarity import set_pairs
from linforest_precond.graph.traffic.packet_files import read_packets
from linforest_precond.similarity import encoding, fuzzy_join, match_sets, read_sets, verification
from linforest_precond.study.cases import Case
from linforest_precond.study.store import Store, case_file

CLASSES = {
    "packets": (100, 20_000),
    "vectors": (60, 10_000),
    "sets": (60, 10_000),
    "sizes of sets": (10, 500),
    "many sets in small files": (5, 500),
    "case files": (60, 10_000),
}
LIMIT_SECONDS = 120.0

INTEGERS = ("0", "1", "7", "42", "+3", "007", "4294967295", " 5", "6\t")
ADDRESSES = ("10.0.0.1", "192.0.2.7", "0.0.0.0", " 1.2.3.4 ")
# What int() and float() of Python, or other programs, take for numbers.
OTHERS = (
    "1\0", "1_000", "\uff11\uff12", "\u0663", "0x10", "1e3", "1.5", "-1", "", "nan", "inf", "1e400", "-1e999",
    "1 2", '"1\n2"', '"7"', "4294967296", "9" * 19, "9" * 20, "9" * 30, "256.0.0.1", "1.2.3", "\u0661.0.0.1",
    "abc", "e1", "1" * 2000, "\ufeff1", "=1", "#", "1,5", "\u00a01", "\u20281", "'", '"',
)  # fmt: skip
HEADERS = (
    "source,destination",
    "src,dst,packets",
    "abc,2",
    "a.b.c.d,10.0.0.1",
    '"a","b"',
    "#a,b",
    "a b",
    ",",
)
ENDS = ("\n",) * 10 + ("\r\n", "\r\n", "\r", "\n\n", " \n")
BYTES = (b"\xff", b"\x00", b"\r", b"\n", b",", b'"', b"\xef\xbb\xbf", b"9", b"\xc3")
CASE = Case("A.mtx", title="A", origin="file")
RECORD = {
    **CASE.record(),
    "status": "done",
    "error": None,
    "seconds": 1.5,
    "coverage": {"parallel": {"2": 0.9}},
}
VALUES = (None, 0, 1, -1.5, "done", "failed", [], {}, "A.mtx", True, 1e300)
FREE_BYTES = 2**26


def prepare(folder):
    """Small batches, and little memory."""
    set_pairs.CELLS = 2**10
    calibration.free_bytes = lambda: FREE_BYTES


def run_case(prepared, name, rng, folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CASES[name](rng, folder)


def pick(rng, items):
    return items[int(rng.integers(len(items)))]


def written(rng, path, text, damage=0.1):
    """Write a text, sometimes with a byte order mark or a changed byte; returns the bytes."""
    content = (b"\xef\xbb\xbf" if rng.random() < 0.1 else b"") + text.encode()
    if rng.random() < damage:
        at = int(rng.integers(len(content) + 1))
        content = content[:at] + pick(rng, BYTES) + content[at + int(rng.integers(2)) :]
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return content


def lines_of(content):
    """The lines of a text as they must be, without their ends; None for a text that must be refused."""
    try:
        text = content.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError:
        return None
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    lines = lines[:-1] if lines[-1] == "" else lines
    return None if any("\r" in line for line in lines) else lines


def refused(path, error):
    assert str(path) in str(error), f"the file is not named: {error}"
    return "refused"


def packets(rng, folder):
    width, kinds = pick(rng, (2, 2, 3)), (INTEGERS, pick(rng, (INTEGERS, ADDRESSES)))
    rows = [
        [pick(rng, kinds[column == 0]) for column in range(width)] for _ in range(int(rng.integers(1, 6)))
    ]
    if rng.random() < 0.5:
        pick(rng, rows)[int(rng.integers(width))] = pick(rng, OTHERS)
    start = pick(rng, HEADERS) + "\n" if rng.random() < 0.3 else ""
    path = folder / "packets.csv"
    content = written(rng, path, start + "".join(",".join(row) + pick(rng, ENDS) for row in rows))
    try:
        found = [[] for _ in range(3)]
        for piece in read_packets(path):
            found = [[*old, *new.tolist()] for old, new in zip(found, piece)] + [[]] * (3 - len(piece))
    except ValueError as error:
        assert must_refuse(content), f"refused although sound: {error}"
        return refused(path, error)
    columns = [[literal_number(text) for text in column] for column in literal_columns(content)]
    assert [column for column in found if column] == columns
    return "read"


def must_refuse(content):
    """Whether a text has no columns of numbers; those with quotes or a blank first line are not judged."""
    first, *rest = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if b'"' in content or not first.strip() or max(map(len, (first, *rest))) >= 1000:
        return True
    try:
        columns = literal_columns(content)
        numbers = [[literal_number(text) for text in column] for column in columns]
    except (AssertionError, TypeError, ValueError):
        return True
    return (
        len(columns) not in (0, 2, 3)
        or any(len({"." in text for text in column}) > 1 for column in columns)
        or any("." in text for column in columns[2:] for text in column)
        or any(number >= 2**32 for column in numbers[:2] for number in column)
        or any(number >= 2**63 for column in numbers[2:] for number in column)
    )


def literal_columns(content):
    """The columns of a text, without a header and without quotes, as text."""
    lines = [line.replace('"', "").split(",") for line in lines_of(content) if line.strip()]
    assert len(set(map(len, lines))) < 2, "lines of several widths"
    if lines and all(re.match(r"\s*[^\W\d_]", field) for field in lines[0]):
        del lines[0]
    return [[field.strip() for field in column] for column in zip(*lines)]


def literal_number(text):
    """An integer, or the four parts of an address."""
    assert re.fullmatch(r"\+?[0-9]{1,19}|(0|[1-9][0-9]{0,2})(\.(0|[1-9][0-9]{0,2})){3}", text), (
        f"read: {text!r}"
    )
    *parts, last = map(int, text.split("."))
    assert not parts or max(*parts, last) < 256
    return sum(part << (8 * (3 - place)) for place, part in enumerate(parts)) + last


def vectors(rng, folder):
    numbers = ("1", "-2.5", "1e-3", "0", "7")
    rows = [pick(rng, numbers) for _ in range(int(rng.integers(1, 6)))]
    if rng.random() < 0.5:
        rows[int(rng.integers(len(rows)))] = pick(rng, OTHERS)
    path = folder / pick(rng, ("b.txt", "b.txt.gz"))
    content = written(rng, path, "".join(row + pick(rng, ENDS) for row in rows))
    lines = [line.split("#")[0].split() for line in lines_of(content) or ()]
    try:
        found = read_vector(str(path), "--rhs", sum(map(bool, lines)))
    except ValueError as error:
        return refused(path, error)
    expected = np.array([[float(word) for word in line] for line in lines if line])
    assert all(re.fullmatch(r"[-+.e0-9]+", word) for line in lines for word in line), content
    assert np.isfinite(found).all() and found.ravel().tolist() == expected.ravel().tolist()
    return "read"


def sets(rng, folder):
    words = ("a", "b", "\u00e9", "\U0001f600", "x" * 50, "\u2028", "\x1c", "\0", ",", "a,b", "")
    rows = [
        " ".join(pick(rng, words) for _ in range(int(rng.integers(1, 4))))
        for _ in range(int(rng.integers(5)))
    ]
    path, separator = folder / "sets.txt", pick(rng, (None, ",", "\u00e9"))
    content = written(rng, path, "".join(row + pick(rng, ENDS) for row in rows))
    try:
        found = read_sets(path, separator)
    except ValueError as error:
        return refused(path, error)
    lines = lines_of(content)
    assert found == [{part.strip() for part in line.split(separator)} - {""} for line in lines], content
    return "read"


def sizes_of_sets(rng, folder):
    """Long elements, and sets of many elements."""
    similarity = pick(rng, ("jaccard", "edit"))
    length = pick(
        rng, (3, encoding.LONGEST_ELEMENTS["edit"] + 1, 200_000, encoding.LONGEST_ELEMENTS["jaccard"] + 1)
    )
    count = pick(rng, (1, 50, 3_000, encoding.LARGEST_SET + 1))
    words = [f"w{number}" for number in range(count)]
    pair = words, [*words[1:], "y" * length]
    is_returned = rng.random() < 0.5  # the block of weights
    try:
        found = match_sets(*pair, similarity=similarity) if is_returned else fuzzy_join([*pair])
    except (ValueError, MemoryError) as error:
        assert re.search("must have (elements of )?at most|need .* are free", str(error)), repr(error)
        return "refused"
    assert found is not None
    assert not is_returned or verification.BYTES_PER_CELL * count**2 <= FREE_BYTES
    return "joined"


def many_sets(rng, folder):
    """Repeated lines in a compressed file: refused before they fill the memory, or damaged, or read."""
    line = " ".join(pick(rng, ("a", "b", "\u00e9", "x" * 50)) for _ in range(int(2 ** rng.uniform(0, 12))))
    count = int(2 ** rng.uniform(0, 26) / len(line.encode())) + 1
    path = folder / "sets.txt.gz"
    content = gzip.compress((line.encode() + b"\n") * count, 1)
    path.write_bytes(content[: len(content) - int(rng.integers(10)) * (rng.random() < 0.2)])
    tracemalloc.start()
    try:
        found = read_sets(path)
    except ValueError as error:
        return refused(path, error)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak <= FREE_BYTES + 2**24, f"{peak / FREE_BYTES:.2f} of the free memory"
    assert found == [frozenset(line.split())] * count
    return "read"


def case_files(rng, folder):
    store = Store(folder, {"study": "forests"}, resume=True)
    store.keep(CASE, RECORD)
    path = folder / "cases" / case_file(CASE.name)
    content = changed_document(rng, path.read_bytes())
    path.write_bytes(content)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = store.kept(CASE)
    if found is not None:
        assert found == RECORD and not caught
        return "kept"
    assert len(caught) == 1 and str(path) in str(caught[0].message)
    return "named"


def changed_document(rng, content):
    """Bytes changed, or a value anywhere in the document replaced, removed or added."""
    if rng.random() < 0.4:
        at = int(rng.integers(len(content) + 1))
        return content[:at] + pick(rng, BYTES) * int(rng.integers(2)) + content[at + int(rng.integers(2)) :]
    document = json.loads(content)
    holder = document
    while rng.random() < 0.7 and (
        inner := [each for each in holder.values() if isinstance(each, dict) and each]
    ):
        holder = pick(rng, inner)
    key = pick(rng, sorted(holder))
    if rng.random() < 0.3:
        del holder[key]
    else:
        holder[pick(rng, (key, key, "more"))] = pick(rng, VALUES)
    return json.dumps(document, indent=pick(rng, (None, 1))).encode()


CASES = {
    "packets": packets,
    "vectors": vectors,
    "sets": sets,
    "sizes of sets": sizes_of_sets,
    "many sets in small files": many_sets,
    "case files": case_files,
}
