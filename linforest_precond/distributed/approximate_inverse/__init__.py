"""Sparse approximate inverses over ranks: FSAI and SPAI, with the rows of one rank."""
