"""Fuzzy set joins by approximate matchings: the study of chapter 5 of Mandulak (2025)."""
