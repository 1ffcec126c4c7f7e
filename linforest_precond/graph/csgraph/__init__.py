"""Graph algorithms with the names and returns of `scipy.sparse.csgraph`, and checkers for their results."""
