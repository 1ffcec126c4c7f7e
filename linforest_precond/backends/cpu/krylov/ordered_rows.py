"""Products of a rank's rows: the order of each row's sum is that of its entries."""


def multiply(rows, x):
    """The product of a CSR matrix, which need not be square, with the columns of x.

    SciPy sums each row from its first entry to its last, whatever the other rows are.
    """
    return rows @ x
