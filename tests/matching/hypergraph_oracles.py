"""Reference coarsening of hypergraphs in plain Python. A hypergraph is a list of nets {vertex: entry}."""

import numpy as np
import scipy.sparse as sp
from coarsening_oracles import aggregates_of
from matching_oracles import proposals


def nets_of(H):
    """The nets of an incidence matrix; explicit zeros are pins, duplicates are added."""
    nets = [{} for _ in range(H.shape[0])]
    H = H.tocoo()
    for net, v, value in zip(H.row.tolist(), H.col.tolist(), H.data, strict=True):
        nets[net][v] = nets[net][v] + value if v in nets[net] else value
    return nets


def shared_net_weights(nets, weights, max_net_size):
    """{(lo, hi): sum of weight / (size - 1)} over the nets of both vertices, in ascending order."""
    edges = {}
    for net, weight in zip(nets, weights, strict=True):
        if not 2 <= len(net) <= max_net_size:
            continue
        for lo in net:
            for hi in net:
                if lo < hi:
                    edges[lo, hi] = edges.get((lo, hi), 0.0) + float(weight) / (len(net) - 1)
    return {edge: weight for edge, weight in edges.items() if weight}


def coarse_hypergraph(nets, size, weights, max_net_size, seed, mate=None):
    """The aggregates, {(net, vertex): sum} of the nets that are left, and their numbers."""
    edges = shared_net_weights(nets, weights, max_net_size)
    mate = proposals(edges, size, True, seed=seed)[0] if mate is None else mate
    W = sp.csr_array((size, size))
    if edges:
        lo, hi = np.array(list(edges)).T
        W = sp.coo_array((list(edges.values()), (lo, hi)), shape=(size, size))
        W = sp.csr_array(W + W.T)
    aggregates = aggregates_of(W, mate, seed)
    left, numbers = {}, []
    for number, net in enumerate(nets):
        coarse = {}
        for v in sorted(net):
            coarse[aggregates[v]] = coarse[aggregates[v]] + net[v] if aggregates[v] in coarse else net[v]
        if len(coarse) > 1:
            left |= {(len(numbers), v): value for v, value in coarse.items()}
            numbers.append(number)
    return aggregates, left, numbers
