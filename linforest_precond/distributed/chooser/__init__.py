"""The choice of a preconditioner for a matrix over ranks."""
