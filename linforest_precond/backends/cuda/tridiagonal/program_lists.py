"""The programs of tridiagonal systems, for `prefetch`."""

from ..runtime.loader import kernels
from ..runtime.prefetch import lists_programs_of
from . import tiles


@lists_programs_of("tridiagonal")
def tridiagonal_programs(csr, stored, block):
    """Of the factorization and the sweeps of a matrix's bands, with blocks of so many rows.

    The bands of a complex matrix may be symmetric or not where its magnitudes are.
    """
    programs = [
        kernels("tridiagonal/pivots", VALUE=stored.type, BLOCK=block),
        kernels("matrix/pattern_digest", INDEX=csr.indices.dtype.type),
    ]
    if stored.kind != "c":
        kinds = [tiles.SYMMETRIC] if csr.symmetric else [tiles.PLAIN, tiles.TRANSPOSED]
        programs += [kernels("tridiagonal/sweeps", **tiles.macros(stored, block, kind)) for kind in kinds]
    return programs
