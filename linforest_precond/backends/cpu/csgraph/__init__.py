"""Graph algorithms: components, breadth-first search, spanning forests, independent sets, PageRank ..."""
