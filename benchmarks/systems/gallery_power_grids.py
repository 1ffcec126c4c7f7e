"""Systems of the gallery that pandapower assembles for the grids that it ships.

Every function takes the name of a grid and returns an `Assembled`.
"""

from __future__ import annotations

import contextlib

import numpy as np
import pandapower
import pandapower.networks

from benchmarks.systems.assembled import Assembled, assembled


def loaded(grid):
    return getattr(pandapower.networks, grid)()


def solved(net):
    """The arrays of a power flow, also where Newton's method does not converge."""
    with contextlib.suppress(pandapower.LoadflowNotConverged):
        pandapower.runpp(net, init="dc", calculate_voltage_angles=True, numba=False)
    return net._ppc["internal"]


def newton(grid) -> Assembled:
    """The Jacobian of Newton's method at its last iterate, and that of 2 % less load."""
    net = loaded(grid)
    J = solved(net)["J"]
    net.load[["p_mw", "q_mvar"]] *= 0.98
    b = np.random.default_rng(0).standard_normal(J.shape[0])
    return assembled(J, b, solved(net)["J"], "Jacobian of the power flow, random mismatch")


def admittances(grid) -> Assembled:
    """The complex admittances of the buses, and the currents of the power flow."""
    found = solved(loaded(grid))
    return assembled(found["Ybus"], found["Ybus"] @ found["V"], note="complex admittances")


def direct_current(grid) -> Assembled:
    """The susceptances of the linearized power flow without the buses of given angle."""
    found = solved(loaded(grid))
    free = np.sort(np.concatenate([found["pv"], found["pq"]]))
    B = -found["Ybus"].imag.tocsr()[free][:, free]
    b = np.random.default_rng(0).standard_normal(free.size)
    return assembled(B, b, note="imaginary part of the admittances, random injections")


# The function, and the grids of the small and of the medium system; None: there is no small one.
SYSTEMS = {
    "Newton, pegase": (newton, "case300", "case9241pegase"),
    "Newton, rte": (newton, None, "case6470rte"),
    "Newton, Great Britain": (newton, None, "GBnetwork"),
    "Newton, Poland": (newton, None, "case3120sp"),
    "admittances, pegase": (admittances, "case1354pegase", "case9241pegase"),
    "direct current, pegase": (direct_current, "case1354pegase", "case2869pegase"),
    "direct current, rte": (direct_current, None, "case6515rte"),
}
