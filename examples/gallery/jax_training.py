"""JAX: a training loop through a sparse solve, compiled by jit.

Conductivities of a grid are learned. `jax.scipy.sparse.linalg.cg` has gradients, but no preconditioner.
"""

import jax
import jax.numpy as jnp
from comparison import compare
from jax.experimental.sparse import BCOO

import linforest_precond as lf
from linforest_precond.jax import solve

jax.config.update("jax_enable_x64", True)
side = 150
grid = lf.matrices.poisson((side, side)).tocoo()
edges = grid.row < grid.col
first, second = jnp.asarray(grid.row[edges]), jnp.asarray(grid.col[edges])
diagonal = jnp.arange(side**2)
b = jnp.where(diagonal % side < side // 2, 1.0, 0.0)  # one half is heated
ends = (first, second, diagonal), (second, first, diagonal)
places = jnp.stack([jnp.concatenate(each) for each in ends], axis=1)
print(f"{side**2:,} unknowns, {first.size:,} conductivities, 10 steps")


def matrix(conductivities):
    """Conductances between neighbours, and 0.001 to the outside."""
    sums = jnp.full(side**2, 0.001).at[first].add(conductivities).at[second].add(conductivities)
    values = jnp.concatenate([-conductivities, -conductivities, sums])
    return BCOO((values, places), shape=grid.shape)


def plain(A):
    return jax.scipy.sparse.linalg.cg(lambda x: A @ x, b, tol=1e-8)[0]


def preconditioned(A):
    return solve(A, b, M=lambda A: lf.multilevel(A).aspreconditioner())


observed = plain(matrix(1 + jax.random.uniform(jax.random.key(0), first.shape)))


def trained(solver):
    def loss(logarithms):
        return jnp.mean((solver(matrix(jnp.exp(logarithms))) / observed - 1) ** 2)

    step = jax.jit(jax.value_and_grad(loss))
    logarithms = jnp.zeros(first.size)
    for _ in range(10):
        value, gradient = step(logarithms)
        logarithms -= 0.1 * gradient / jnp.abs(gradient).max()
    return float(value)


compare(
    {"JAX's cg": lambda: trained(plain), "lf.multilevel": lambda: trained(preconditioned)},
    abs,
    "loss",
)
