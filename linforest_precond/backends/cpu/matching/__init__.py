"""Matchings, and the aggregates that are made of them."""

from . import aggregates as aggregates
from . import edge_values as edge_values
from . import greedy_matching as greedy_matching
from . import locally_dominant as locally_dominant
from . import paz_schwartzman as paz_schwartzman
from . import proposals as proposals
from . import suitor as suitor
