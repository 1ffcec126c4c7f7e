"""Hashes of vertices and edges by their global ids, for ranks whose own vertices are numbered otherwise."""

import numpy as np

from .hashing import is_positive, symmetry_hash
from .jit import kernel
from .md5 import is_positive_md5


# Whether the charge of each vertex is positive.
@kernel(parallel=False)
def charges(ids, charge_key, threshold, positive):
    for i in range(ids.size):
        positive[i] = is_positive(ids[i], charge_key, threshold)


# The same by the MD5 digest of vertex, iteration and seed.
@kernel(parallel=False)
def charges_md5(ids, k, seed, threshold, positive):
    for i in range(ids.size):
        positive[i] = is_positive_md5(ids[i], k, seed, threshold)


# The hashes of entries above the diagonal minus those below it, modulo 2**64; `bits` are those of the weights.
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
