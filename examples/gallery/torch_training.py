"""torch: a training loop through a sparse solve.

Conductivities of a grid are learned. torch's own solve with gradients is dense; a backward pass through
`linforest_precond.torch.solve` is one more sparse solve.
"""

import torch
from comparison import compare

import linforest_precond as lf
from linforest_precond.torch import solve

side = 50
grid = lf.matrices.poisson((side, side))
rows, columns = (torch.from_numpy(each.astype("int64")) for each in grid.tocoo().coords)
first, second = rows[rows < columns], columns[rows < columns]
diagonal = torch.arange(side**2)
b = (diagonal % side < side // 2).to(torch.float64)  # one half is heated
indices = torch.stack([torch.cat([first, second, diagonal]), torch.cat([second, first, diagonal])])
print(f"{side**2:,} unknowns, {first.numel():,} conductivities, 10 steps of Adam")


def matrix(conductivities):
    """Conductances between neighbours, and 0.1 to the outside."""
    sums = torch.full((side**2,), 0.1, dtype=torch.float64)
    sums = sums.index_add(0, first, conductivities).index_add(0, second, conductivities)
    values = torch.cat([-conductivities, -conductivities, sums])
    return torch.sparse_coo_tensor(indices, values, grid.shape, check_invariants=False)


def sparse(A):
    return solve(A, b, M=lf.tridiagonal)


def dense(A):
    return torch.linalg.solve(A.to_dense(), b)


observed = dense(matrix(1 + torch.rand(first.numel(), dtype=torch.float64))).detach()


def trained(solver):
    logarithms = torch.zeros(first.numel(), dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([logarithms], lr=0.1)
    for _ in range(10):
        optimizer.zero_grad()
        loss = torch.mean((solver(matrix(logarithms.exp())) - observed) ** 2)
        loss.backward()
        optimizer.step()
    return loss.item()


compare(
    {
        "torch.linalg.solve, dense": lambda: trained(dense),
        "linforest_precond.torch.solve": lambda: trained(sparse),
    },
    abs,
    "loss",
)
