"""Differentiable solves with sparse tensors of torch (extra ``torch``).

The module imports without torch, which is needed to call `solve`.
"""

from linforest_precond.interop.torch_solve import solve

__all__ = ["solve"]
