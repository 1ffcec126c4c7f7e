"""Matrix Market files read slowly and literally: regular expressions, `float`, dictionaries."""

import math
import re

import numpy as np

NUMBER = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:[eEdD]([+-]?[0-9]+)|([+-][0-9]+))?")
WORD = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
FIELDS = {"real": 1, "double": 1, "integer": 1, "unsigned-integer": 1, "complex": 2, "pattern": 0}
SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")
LIMITS = {"integer": (-(2**63), 2**63 - 1), "unsigned-integer": (0, 2**64 - 1)}
MOST_ROWS, ROWS_PER_ENTRY = 2**26, 16


class Refused(Exception):  # noqa: N818
    """The text is not a Matrix Market file."""


def refuse_unless(condition):
    if not condition:
        raise Refused


def blank_split(line):
    return re.findall("[^ \t\r]+", line)


def read_oracle(text):
    """(shape, {(row, column): list of values as stored}) of a text, or Refused."""
    lines = text.decode("latin-1").split("\n")
    words = blank_split(lines[0].lower())
    refuse_unless(len(words) == 5 and words[:2] == ["%%matrixmarket", "matrix"])
    format, field, symmetry = words[2:]
    refuse_unless(format in ("coordinate", "array") and field in FIELDS and symmetry in SYMMETRIES)
    refuse_unless((format, field) != ("array", "pattern"))
    refuse_unless((field, symmetry) != ("unsigned-integer", "skew-symmetric"))
    at = 1
    while at < len(lines) and (not blank_split(lines[at]) or blank_split(lines[at])[0].startswith("%")):
        at += 1
    refuse_unless(at < len(lines))
    sizes = blank_split(lines[at])
    refuse_unless(len(sizes) == (3 if format == "coordinate" else 2))
    refuse_unless(all(re.fullmatch("[0-9]{1,19}", word) and int(word) < 2**63 for word in sizes))
    rows, columns, *count = map(int, sizes)
    refuse_unless(symmetry == "general" or rows == columns)
    body = [words for line in lines[at + 1 :] if (words := blank_split(line))]
    places = count[0] if count else list(array_places(rows, columns, symmetry, len(body)))
    refuse_unless(len(body) == (places if count else len(places)))
    refuse_unless(rows <= max(MOST_ROWS, ROWS_PER_ENTRY * len(body)))
    found = {}
    for k, words in enumerate(body):
        refuse_unless(len(words) == FIELDS[field] + (2 if count else 0))
        place = indices(words, rows, columns) if count else places[k]
        store(found, place, value_of(words[2:] if count else words, field), symmetry)
    return (rows, columns), found


def array_places(rows, columns, symmetry, lines):
    """The places of an array's lines, column after column; refused before there are more than lines."""
    first = {"general": lambda j: 0, "skew-symmetric": lambda j: j + 1}.get(symmetry, lambda j: j)
    given = 0
    for j in range(columns if rows else 0):
        for i in range(first(j), rows):
            given += 1
            refuse_unless(given <= lines)
            yield i, j


def indices(words, rows, columns):
    refuse_unless(all(re.fullmatch("[0-9]+", word) for word in words[:2]))
    i, j = int(words[0]), int(words[1])
    refuse_unless(1 <= i <= rows and 1 <= j <= columns)
    return i - 1, j - 1


def value_of(words, field):
    if field == "pattern":
        return 1.0
    if field in LIMITS:
        refuse_unless(re.fullmatch("[+-]?[0-9]+", words[0]))
        low, high = LIMITS[field]
        refuse_unless(low <= int(words[0]) <= high)
        return float(int(words[0]))
    numbers = [real(word) for word in words]
    return complex(*numbers) if field == "complex" else numbers[0]


def real(word):
    if WORD.fullmatch(word):
        return float(word)
    match = NUMBER.fullmatch(word)
    refuse_unless(match)
    value = float(f"{match[1]}e{match[2] or match[3] or 0}")
    refuse_unless(not math.isinf(value))
    return value


def store(found, place, value, symmetry):
    if place[0] == place[1]:
        refuse_unless(symmetry != "hermitian" or complex(value).imag == 0)
        refuse_unless(symmetry != "skew-symmetric" or value == 0)
    found.setdefault(place, []).append(value)
    mirror = {"symmetric": lambda x: x, "skew-symmetric": lambda x: -x, "hermitian": np.conj}.get(symmetry)
    if mirror and place[0] != place[1]:
        found.setdefault(place[::-1], []).append(complex_or_real(mirror(value)))


def complex_or_real(value):
    return complex(value) if isinstance(value, complex) else float(value)


def assert_equals_oracle(A, text):
    """A is the matrix that the oracle reads; arrays are stored without their zeros."""
    shape, found = read_oracle(text)
    if b"array" in text.split(b"\n")[0].lower():
        found = {place: values for place, values in found.items() if values != [0]}
    assert A.shape == shape and A.nnz == len(found), (A.shape, A.nnz, shape, len(found))
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr)) if A.nnz else []
    for i, j, value in zip(rows, A.indices, A.data):
        assert_is_sum(value, found[int(i), int(j)])


def assert_is_sum(value, stored):
    if len(stored) == 1:
        assert value == stored[0] or (np.isnan(value) and np.isnan(stored[0])), (value, stored)
        return
    size = sum(map(abs, stored))
    if math.isfinite(size) and size < 1e300:
        assert abs(value - sum(stored)) <= 1e-12 * size, (value, stored)
