"""The symmetry check of `entries.scan` for a rank's part of the entries, with global rows and columns."""

import numpy as np

from ..runtime.hashing import symmetry_hash
from ..runtime.jit import kernel


# The hashes of entries above the diagonal minus those below it, modulo 2**64; `bits` are the weights'.
@kernel(parallel=False)
def symmetry_balance(rows, columns, bits):
    balance = np.uint64(0)
    for i in range(rows.size):
        word = symmetry_hash(rows[i], columns[i], np.uint64(bits[i]))
        if columns[i] > rows[i]:
            balance += word
        elif columns[i] < rows[i]:
            balance -= word
    return balance
