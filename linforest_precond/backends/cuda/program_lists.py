"""The programs of public calls, for `prefetch`: the slowest to compile first."""

import numpy as np

from .csgraph import independent_set
from .forest import bands, bidirectional_scan, factor, linear_forest, pairs, path_pairs
from .krylov import norms, residuals, spmv, vector_space
from .matrix import copies, patterns, sparse_products, sums
from .matrix import hermitian as hermitian_matrices
from .multigrid import coarsest, smoothed_aggregation, vector_ops
from .runtime import grid_sums, wide_type
from .runtime.prefetch import lists_programs_of
from .tridiagonal import pivots, sweeps, tiles


@lists_programs_of("linear_forest")
def linear_forest_programs(graph, options, method):
    """Of a linear forest of a graph, with the checked options of its factor."""
    value, index = graph.values.dtype.type, graph.indices.dtype.type
    forest = linear_forest if method == "list_ranking" else bidirectional_scan
    return [
        _factor_program(graph, options),
        forest.PROGRAM(WEIGHT=value, INDEX=index),
        linear_forest.ORDERING(INDEX=index),
        grid_sums.PREFIX_SUM(INDEX=index),
    ]


@lists_programs_of("bands_along_forest")
def bands_along_forest_programs(csr, graph, options, method):
    """Of a matrix's bands along such a forest."""
    return [*linear_forest_programs(graph, options, method), bands.PROGRAM(VALUE=csr.data, INDEX=csr.indices)]


@lists_programs_of("bands_along_block_forest")
def bands_along_block_forest_programs(csr, graph, candidates, across_paths):
    """Of a matrix's bands along a forest of blocks; `across_paths`: pairs across paths are tried, too."""
    value, index = graph.values.dtype.type, graph.indices.dtype.type
    factors = {_factor_program(graph, options): None for candidate in candidates for options in candidate}
    programs = [
        *factors,
        pairs.PROGRAM(VALUE=value, INDEX=index),
        pairs.PROGRAM(VALUE=np.float64, INDEX=index),
        linear_forest.PROGRAM(WEIGHT=value, INDEX=index),
        linear_forest.ORDERING(INDEX=index),
        grid_sums.PREFIX_SUM(INDEX=index),
        bands.BLOCK_PROGRAM(VALUE=csr.data, INDEX=csr.indices),
        sums.PROGRAM(VALUE=value),
    ]
    if across_paths:
        programs += [
            path_pairs.PROGRAM(VALUE=value, INDEX=index),
            path_pairs.PROGRAM(VALUE=np.float64, INDEX=index),
        ]
    return programs


def _factor_program(graph, options):
    switches = factor.needs_switches(options.charge, options.ties, options.m)
    return factor.program_of(graph, options.n, switches)


@lists_programs_of("tridiagonal")
def tridiagonal_programs(csr, stored, block):
    """Of the factorization and the sweeps of a matrix's bands, with blocks of `block` rows.

    The bands of a complex matrix may be symmetric or not where its magnitudes are.
    """
    programs = [
        pivots.program_of(-(-csr.n // block), stored, block),
        patterns.DIGEST(INDEX=csr.indices),
    ]
    if stored.kind != "c":
        kinds = [tiles.SYMMETRIC] if csr.symmetric else [tiles.PLAIN, tiles.TRANSPOSED]
        programs += [sweeps.PROGRAM(**tiles.macros(stored, block, kind)) for kind in kinds]
    if stored.itemsize < csr.data.dtype.itemsize:
        programs.append(copies.NARROWING())
    return programs


@lists_programs_of("smoothed_aggregation")
def smoothed_aggregation_programs(csr, stored, hermitian):
    """Of a hierarchy by smoothed aggregation of a matrix that is not the coarsest.

    The rows of coarse matrices are longer: they are taken to need the next larger team of lanes.
    """
    value, index = csr.data.dtype.type, csr.indices.dtype.type
    programs = [
        *(smoothed_aggregation.program_of(csr, lanes) for lanes in smoothed_aggregation.likely_lanes(csr)),
        sparse_products.PROGRAM(VALUE=csr.data, INDEX=csr.indices),
        *(vector_ops.PROGRAM(VALUE=stored, INDEX=index, TEAMS=teams) for teams in _teams(csr)),
        independent_set.PROGRAM(INDEX=index),
        coarsest.MATRIX(VALUE=csr.data, INDEX=csr.indices),
        grid_sums.PREFIX_SUM(INDEX=index),
        patterns.DIGEST(INDEX=index),
    ]
    if hermitian:
        programs.append(hermitian_matrices.PROGRAM(VALUE=csr.data, INDEX=csr.indices))
        programs.append(coarsest.INVERSE(VALUE=wide_type(value), RESULT=stored))
    if stored.itemsize < np.dtype(value).itemsize:
        programs.append(copies.NARROWING())
    return programs


@lists_programs_of("approximate_inverse")
def approximate_inverse_programs(csr, stored, method):
    """Of products with the inverse and of A's rows; what its own program is depends on the latter."""
    index, wide = csr.indices.dtype.type, np.result_type(csr.data.dtype, np.float64).type
    programs = [vector_ops.PROGRAM(VALUE=stored, INDEX=index, TEAMS=teams) for teams in _teams(csr)]
    return programs if method == "fsai" else [sparse_products.PROGRAM(VALUE=wide, INDEX=index), *programs]


@lists_programs_of("solver")
def solver_programs(dtype):
    """Of a Krylov solver with vectors of a type."""
    return [
        vector_space.PROGRAM(VALUE=dtype),
        norms.PROGRAM(VALUE=dtype.type(0).real.dtype.type),
    ]


@lists_programs_of("product")
def product_programs(csr, dtype):
    """Of products with a matrix, and of residuals."""
    index = csr.indices.dtype.type
    reals = {"VALUE": dtype.type(0).real.dtype.type, "DATA": csr.data.real.dtype.type}
    return [spmv.PROGRAM(VALUE=dtype, INDEX=index), residuals.PROGRAM(INDEX=index, **reals)]


def _teams(csr):
    """Whether teams of lanes multiply rows: those of coarse matrices, and of small ones."""
    return (1, 0) if vector_ops.may_stream(csr.n, csr.data.size) else (1,)
