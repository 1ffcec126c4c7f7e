"""Read matrices from files: Matrix Market, Rutherford-Boeing, MATLAB, NumPy, archives of the collection."""
