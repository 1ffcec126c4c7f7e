"""The programs of forests, for `prefetch`: the slowest to compile first."""

import numpy as np

from ..runtime.loader import kernels
from ..runtime.prefetch import lists_programs_of
from . import factor


@lists_programs_of("linear_forest")
def linear_forest_programs(graph, options, method):
    """Of a linear forest of a graph, with the checked options of its factor."""
    value, index = graph.values.dtype.type, graph.indices.dtype.type
    ranks = method == "list_ranking"
    name = "forest/linear_forest" if ranks else "forest/bidirectional_scan"
    return [
        _factor_program(graph, options),
        kernels(name, cooperative=ranks, WEIGHT=value, INDEX=index),
        kernels("forest/ordering", INDEX=index),
        kernels("runtime/prefix_sum", INDEX=index),
    ]


@lists_programs_of("bands_along_forest")
def bands_along_forest_programs(csr, graph, options, method):
    """Of a matrix's bands along such a forest."""
    bands = kernels("forest/bands", VALUE=csr.data.dtype.type, INDEX=csr.indices.dtype.type)
    return [*linear_forest_programs(graph, options, method), bands]


@lists_programs_of("bands_along_block_forest")
def bands_along_block_forest_programs(csr, graph, candidates, across_paths):
    """Of a matrix's bands along a forest of blocks; `across_paths`: pairs across paths are tried, too."""
    value, index = graph.values.dtype.type, graph.indices.dtype.type
    factors = {_factor_program(graph, options): None for candidate in candidates for options in candidate}
    programs = [
        *factors,
        kernels("forest/pairs", VALUE=value, INDEX=index),
        kernels("forest/pairs", VALUE=np.float64, INDEX=index),
        kernels("forest/linear_forest", cooperative=True, WEIGHT=value, INDEX=index),
        kernels("forest/ordering", INDEX=index),
        kernels("runtime/prefix_sum", INDEX=index),
        kernels("forest/block_bands", VALUE=csr.data.dtype.type, INDEX=csr.indices.dtype.type),
        kernels("matrix/sums", VALUE=value, INDEX=np.int32),
    ]
    if across_paths:
        programs += [
            kernels("forest/path_pairs", VALUE=value, INDEX=index),
            kernels("forest/path_pairs", VALUE=np.float64, INDEX=index),
            kernels("runtime/prefix_sum", INDEX=np.int64),
        ]
    return programs


def _factor_program(graph, options):
    switches = factor.needs_switches(options.charge, options.ties, options.m)
    return factor.program_of(graph, options.n, switches)
