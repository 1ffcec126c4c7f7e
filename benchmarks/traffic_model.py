"""How many words a tridiagonal solve has to move, and how many its kernels do move."""

from __future__ import annotations


def held_words(rows, block) -> int:
    """The words of a system of so many block rows: three bands, the right-hand side, the solution."""
    return rows * (3 * block**2 + 2 * block)


def moved_words(rows, block, symmetric, tile, halo, passes=1) -> float:
    """The words that the sweeps read and write.

    Tiles of `tile` block rows share `halo` of them with either neighbour. Without halos, what enters the
    tiles has to be found in passes ahead of the last one, each of which reads all.
    """
    read = (2 if symmetric else 3) * block**2 + block
    return rows * (passes * read * tile / (tile - 2 * halo) + block)
