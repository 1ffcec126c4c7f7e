"""Components, independent sets and spanning forests of random graphs: the study of Cichra's thesis (2024)."""
