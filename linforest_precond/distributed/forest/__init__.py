"""Factors, linear forests and their bands over ranks."""
