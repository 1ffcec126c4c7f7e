"""Find matrices of the SuiteSparse collection in local folders, or download them into the cache."""
