"""Graph algorithms on sparse matrices: factors, linear forests, orderings."""

from linforest_precond.graph.coverage import identity_coverage as identity_coverage
from linforest_precond.graph.factor import factor as factor
from linforest_precond.graph.forest import linear_forest as linear_forest
from linforest_precond.graph.greedy import greedy_factor as greedy_factor
