"""Fuzzy set joins: filter of candidate pairs, weights between elements, a bipartite matching per pair."""
