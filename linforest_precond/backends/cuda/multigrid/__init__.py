"""Multigrid: aggregation, strength of connection, interpolation, Galerkin products, cycles."""

from . import dense as dense
from . import galerkin as galerkin
from . import node_graph as node_graph
from . import path_interpolation as path_interpolation
from . import smoothed_aggregation as smoothed_aggregation
from . import strength as strength
from . import tentative as tentative
from . import transfers as transfers
from . import vector_ops as vector_ops
