"""Graphs of many kinds by name: small ones for the reference implementations, and large ones."""

import numpy as np
import scipy.sparse as sp
import strategies as graphs


def star_of_stars(leaves):
    """A centre whose many neighbours have a leaf each: in the order of the independent set it comes last."""
    rim = np.arange(1, leaves + 1)
    ends = np.concatenate([rim, rim + leaves])
    return graphs.from_edges(2 * leaves + 1, np.concatenate([np.zeros(leaves), rim]), ends, 1.0)


SMALL = {
    "tiny components": lambda: graphs.packed_small_graphs(300),
    "random": lambda: graphs.random_graph(1500),
    "directed": lambda: graphs.random_graph(1500, symmetric=False),
    "rmat": lambda: graphs.rmat_graph(10),
    "cube": lambda: graphs.grid_graph(10, 11, 12),
    "path": lambda: graphs.path_graph(2000),
    "star": lambda: graphs.star_graph(2000),
    "star of stars": lambda: star_of_stars(700),
    "cliques": lambda: graphs.two_cliques_joined(80),
    "isolated": lambda: sp.csr_array((500, 500)),
}
# With long rows, which are split where pieces are small.
LONG_ROWS = "directed", "rmat", "star", "star of stars", "cliques"

LARGE = {
    "tiny components": lambda: graphs.packed_small_graphs(10**5),
    "rmat": graphs.large_rmat,
    "cube": lambda: graphs.grid_graph(100, 100, 100),
    "path": lambda: graphs.path_graph(10**6),
    "star": lambda: graphs.star_graph(10**6),
    "star of stars": lambda: star_of_stars(300_000),
}
