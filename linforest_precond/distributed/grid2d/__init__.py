"""Graphs distributed in two dimensions: R x C ranks, each with one block of the adjacency matrix.

M. Mandulak, G. Slota, "Scaling Distributed Graph Processing to Hundreds of GPUs", ICPP 2025; chapter 6 of
M. Mandulak, "Large-Scale Graph Analysis and Matching on Parallel Architectures", Rensselaer Polytechnic
Institute (2025).
"""

from linforest_precond.distributed.grid2d.breadth_first import bfs
from linforest_precond.distributed.grid2d.components import connected_components
from linforest_precond.distributed.grid2d.graph import Graph2D
from linforest_precond.distributed.grid2d.grid import Grid
from linforest_precond.distributed.grid2d.label_propagation import label_propagation
from linforest_precond.distributed.grid2d.matching import matching
from linforest_precond.distributed.grid2d.pagerank import pagerank
from linforest_precond.distributed.grid2d.pointer_jumping import pointer_jumping

__all__ = [
    "Graph2D",
    "Grid",
    "bfs",
    "connected_components",
    "label_propagation",
    "matching",
    "pagerank",
    "pointer_jumping",
]
