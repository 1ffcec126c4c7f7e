"""Factors, linear forests and the bands along them."""
