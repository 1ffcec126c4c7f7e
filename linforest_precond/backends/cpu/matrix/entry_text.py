"""Entries of a matrix in text form: lines of indices and decimal numbers.

`scan_entries` is a single pass over bytes that checks the grammar of every line, the number of its columns
and the range of its indices, and rounds its numbers correctly. Numbers are converted by the two fast paths of
correctly rounded decimal conversion: exact powers of ten (Clinger 1990), and a product with a 128-bit power
of five (Lemire, Number Parsing at a Gigabyte per Second, 2021). Whatever neither path decides is recorded for
the caller, who has Python's `float` for it.
"""

import numpy as np

from ..runtime.jit import helper, kernel

# What a scan ends with, and the kind of the values.
DONE, UNDECIDED_FULL, TOO_MANY, BAD_INDEX, ROW_OUTSIDE, COLUMN_OUTSIDE, EXTRA_TEXT = range(7)
REAL, INTEGER, UNSIGNED = range(3)

TAB, NEWLINE, RETURN, BLANK, PLUS, MINUS, POINT, ZERO, LETTER_D, LETTER_E, LOWER_CASE = np.frombuffer(
    b"\t\n\r +-.0de ", dtype=np.uint8
)  # the bit in which letters of both cases differ is the blank
NINE = np.uint8(9)

# 19 digits fit into 64 bits. Longer exponents or indices than these have one meaning: out of range.
MOST_DIGITS = 19
MOST_EXPONENT, MOST_EXPONENT_DIGITS = 1_000_000, 6
MOST_INDEX, MOST_INDEX_DIGITS = 2**63 - 1, 18

# Powers of ten from 0 to 22 are exact in float64, and so are integers up to 2**53.
EXACT_TENS = 10.0 ** np.arange(23)
MOST_EXACT = np.uint64(1 << 53)

NO_BITS, ONE_BIT, TEN, LOW_HALF = (np.uint64(n) for n in (0, 1, 10, 0xFFFFFFFF))
HALF_WORD, HIGH_BIT, ALMOST_FULL = np.uint64(32), np.uint64(63), np.uint64(2**64 - 2)
MOST_SIGNED, MOST_UNSIGNED = np.uint64(2**63 - 1), np.uint64(2**64 - 1)


def _power_of_five(exponent):
    """(word, e): 5**exponent * 2**exponent lies in [word, word + 1) * 2**(e - 128), and word has 128 bits."""
    power = 5 ** abs(exponent)
    shift = power.bit_length() - 128
    if exponent >= 0:
        return (power >> shift if shift >= 0 else power << -shift), shift + exponent + 128
    scale = power.bit_length() + 127
    return (1 << scale) // power, exponent - scale + 128


# The powers of five that float64 needs, as two words and a binary exponent, and its powers of two. They are
# global because Numba counts references to arguments, which costs more than the conversion.
LEAST_FIVES, MOST_FIVES = -342, 308
LEAST_TWOS, MOST_TWOS = -1074, 970
_FIVES = [_power_of_five(exponent) for exponent in range(LEAST_FIVES, MOST_FIVES + 1)]
FIVES_HIGH = np.array([word >> 64 for word, _ in _FIVES], dtype=np.uint64)
FIVES_LOW = np.array([word & (2**64 - 1) for word, _ in _FIVES], dtype=np.uint64)
FIVES_EXPONENT = np.array([exponent for _, exponent in _FIVES])
TWOS = np.ldexp(1.0, np.arange(LEAST_TWOS, MOST_TWOS + 1))


def scan_entries(text, start, left, layout, shape, rows, columns, values, undecided):
    """Scan whole lines from `start`: status, start of the line that ended it, entries, undecided numbers.

    At most `left` entries may follow. `layout` is whether lines start with a row and a column, how many
    values follow, and their kind. `rows`, `columns` and `values` are filled, integers as bits; `undecided`
    gets (position in `values`, first byte, last byte + 1) of texts that were not converted.
    """
    indexed, parts, kind = layout
    # Where Numba is disabled, sums of 64-bit words wrap around in NumPy, which would warn.
    with np.errstate(over="ignore"):
        return _scan(
            text, start, left, indexed, parts, kind, shape[0], shape[1], rows, columns, values,
            values.view(np.int64), undecided,
        )  # fmt: skip


# One line at a time; every loop over characters ends at the newline, which no token contains.
@kernel
def _scan(
    text, start, left, indexed, parts, kind, last_row, last_column, rows, columns, values, integers,
    undecided,
):  # fmt: skip
    at, entries, open_count = start, 0, 0
    while at < text.size:
        line = at
        at = _skip_blanks(text, at)
        if text[at] == NEWLINE:
            at += 1
            continue
        if entries == left:
            return TOO_MANY, line, entries, open_count
        if open_count + parts > undecided.shape[0]:
            return UNDECIDED_FULL, line, entries, open_count
        if indexed:
            row, at = _index(text, at)
            column, at = _index(text, _skip_blanks(text, at))
            if row < 0 or column < 0:
                return BAD_INDEX, line, entries, open_count
            if row < 1 or row > last_row:
                return ROW_OUTSIDE, line, entries, open_count
            if column < 1 or column > last_column:
                return COLUMN_OUTSIDE, line, entries, open_count
            rows[entries], columns[entries] = row - 1, column - 1
        for part in range(parts):
            first = _skip_blanks(text, at)
            slot = entries * parts + part
            if kind == REAL:
                values[slot], at = _real(text, first)
            else:
                integers[slot], at = _integer(text, first, kind)
            if at < 0:
                at = _token_end(text, first)
                undecided[open_count, 0], undecided[open_count, 1], undecided[open_count, 2] = slot, first, at
                open_count += 1
        at = _skip_blanks(text, at)
        if text[at] != NEWLINE:
            return EXTRA_TEXT, line, entries, open_count
        at += 1
        entries += 1
    return DONE, at, entries, open_count


@helper
def _is_blank(letter):
    return letter == BLANK or letter == TAB or letter == RETURN


@helper
def _ends(letter):
    return letter == NEWLINE or _is_blank(letter)


@helper
def _skip_blanks(text, at):
    while _is_blank(text[at]):
        at += 1
    return at


@helper
def _token_end(text, at):
    while not _ends(text[at]):
        at += 1
    return at


# The helpers below that take the text have a single return: with several, Numba counts references to it.


# An index and where its token ends; -1 where the token is not made of digits.
@helper
def _index(text, at):
    word, digits, end = _digits(text, at, NO_BITS)
    index = np.int64(word) if digits <= MOST_INDEX_DIGITS else MOST_INDEX
    return (index if digits > 0 and _ends(text[end]) else -1), end


# An integer and where its token ends, or -1 where the text is none, or one outside the range.
@helper
def _integer(text, at, kind):
    negative = text[at] == MINUS and kind == INTEGER
    first = at + 1 if negative or text[at] == PLUS else at
    word, digits, end = _digits(text, first, NO_BITS)
    largest = MOST_UNSIGNED if kind == UNSIGNED else MOST_SIGNED
    decided = 0 < digits <= MOST_DIGITS and word <= largest and _ends(text[end])
    whole = np.int64(word)
    return (-whole if negative else whole), (end if decided else -1)


# A number and where its token ends, or -1 where the text is none, or the fast paths do not decide it.
@helper
def _real(text, at):
    negative = text[at] == MINUS
    first = at + 1 if negative or text[at] == PLUS else at
    word, digits, end = _digits(text, first, NO_BITS)
    exponent = 0
    if text[end] == POINT:
        word, decimals, end = _digits(text, end + 1, word)
        digits, exponent = digits + decimals, -decimals
    if not _ends(text[end]):
        written, end = _exponent(text, end)
        exponent += written
    decided, value = _rounded(word, exponent)
    decided = decided and end >= 0 and 0 < digits <= MOST_DIGITS
    return (-value if negative else value), (end if decided else -1)


# Appends digits to a word, which wraps around after MOST_DIGITS of them.
@helper
def _digits(text, at, word):
    end = at
    digit = text[end] - ZERO
    while digit <= NINE:
        word = word * TEN + np.uint64(digit)
        end += 1
        digit = text[end] - ZERO
    return word, end - at, end


# The exponent: E+05, D+05, or without its letter, as Fortran writes exponents of three digits: 1.0-100.
@helper
def _exponent(text, at):
    letter = text[at] | LOWER_CASE
    lettered = letter == LETTER_E or letter == LETTER_D
    sign = at + 1 if lettered else at
    negative = text[sign] == MINUS
    signed = negative or text[sign] == PLUS
    word, digits, end = _digits(text, sign + 1 if signed else sign, NO_BITS)
    exponent = np.int64(word) if digits <= MOST_EXPONENT_DIGITS else MOST_EXPONENT
    valid = (lettered or signed) and digits > 0 and _ends(text[end])
    return (-exponent if negative else exponent), (end if valid else -1)


# word * 10**exponent, correctly rounded.
@helper
def _rounded(word, exponent):
    if word == NO_BITS:
        return True, 0.0
    if word <= MOST_EXACT and -22 <= exponent <= 22:
        value = float(word)
        return True, (value * EXACT_TENS[exponent] if exponent >= 0 else value / EXACT_TENS[-exponent])
    if exponent < LEAST_FIVES or exponent > MOST_FIVES:
        return False, 0.0
    return _product(word, exponent - LEAST_FIVES)


# The product is known to within [upper:lower, upper:lower + 2): both ends round alike, or it is undecided.
@helper
def _product(word, power):
    zeros = _leading_zeros(word)
    word = word << np.uint64(zeros)
    upper, lower = _wide_product(word, FIVES_HIGH[power])
    carry, _ = _wide_product(word, FIVES_LOW[power])
    lower = lower + carry
    if lower < carry:
        upper += ONE_BIT
    dropped = np.uint64(10) + (upper >> HIGH_BIT)  # 53 bits remain
    half = ONE_BIT << (dropped - ONE_BIT)
    rest = upper & ((ONE_BIT << dropped) - ONE_BIT)
    scale = FIVES_EXPONENT[power] + np.int64(dropped) - zeros - LEAST_TWOS
    if lower >= ALMOST_FULL or (rest == half and lower == NO_BITS) or not 0 <= scale < TWOS.size:
        return False, 0.0
    return True, float((upper >> dropped) + (ONE_BIT if rest >= half else NO_BITS)) * TWOS[scale]


# The 128 bits of a product: schoolbook multiplication of 32-bit halves, no part of which overflows.
@helper
def _wide_product(a, b):
    a_low, a_high = a & LOW_HALF, a >> HALF_WORD
    b_low, b_high = b & LOW_HALF, b >> HALF_WORD
    lowest = a_low * b_low
    middle = a_high * b_low + (lowest >> HALF_WORD)
    other = a_low * b_high + (middle & LOW_HALF)
    return a_high * b_high + (middle >> HALF_WORD) + (other >> HALF_WORD), (other << HALF_WORD) | (
        lowest & LOW_HALF
    )


@helper
def _leading_zeros(word):
    zeros = 0
    for bits in (32, 16, 8, 4, 2, 1):
        if word >> np.uint64(64 - bits) == NO_BITS:
            word, zeros = word << np.uint64(bits), zeros + bits
    return zeros
