"""Matchings, and the aggregates that are made of them."""

from . import aggregates as aggregates
from . import best_edges as best_edges
from . import edge_values as edge_values
from . import locally_dominant as locally_dominant
from . import out_of_core_matching as out_of_core_matching
from . import proposals as proposals
from . import suitor as suitor
