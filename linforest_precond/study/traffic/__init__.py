"""Statistics of traffic matrices: the study of chapter 3 of Mandulak (2025)."""
