"""The Galerkin product P^T A P for the tentative prolongator P of aggregates: a one in each row."""

from ..matrix.row_merging import merge_rows


def coarse_matrix(csr, aggregates, indptr, members):
    return merge_rows((csr.indptr, csr.indices, csr.data), indptr, members, aggregates)
