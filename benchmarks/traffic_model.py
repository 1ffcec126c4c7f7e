"""Memory traffic of a tridiagonal solve: the words of the system, and the words that the kernels move."""

from __future__ import annotations


def held_words(rows, block) -> int:
    """The words of a system of `rows` block rows: three bands, the right-hand side and the solution."""
    return rows * (3 * block**2 + 2 * block)


def moved_words(rows, block, symmetric, tile, halo, passes=1) -> float:
    """The words that the sweeps read and write.

    A tile of `tile` block rows overlaps either neighbour by a halo of `halo` rows. Without halos, reduction
    passes (`passes` - 1 of them) compute what enters each tile; every pass reads the whole system.
    """
    read = (2 if symmetric else 3) * block**2 + block
    return rows * (passes * read * tile / (tile - 2 * halo) + block)
