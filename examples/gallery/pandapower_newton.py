"""pandapower: Newton's Jacobians, which have one pattern.

`runpp` calls SciPy's `spsolve` for each Jacobian. `update` of `lf.direct` keeps the order of elimination.
"""

from unittest.mock import patch

import pandapower
import pandapower.networks
from comparison import compare
from pandapower.pypower import newtonpf

import linforest_precond as lf

net = pandapower.networks.case9241pegase()
loads = net.load[["p_mw", "q_mvar"]].copy()
scales = (1.0, 0.99, 0.98, 0.97)


class KeptFactors:
    """`spsolve` for a sequence of matrices with one pattern."""

    inverse = None

    def __call__(self, J, F, **options):
        if self.inverse is None:
            self.inverse = lf.direct(J)
        else:
            self.inverse.update(J)
        return self.inverse @ F


def power_flows():
    """The voltages of a sequence of loads, each started from the last."""
    net.load[["p_mw", "q_mvar"]] = loads
    pandapower.runpp(net, init="dc", calculate_voltage_angles=True, numba=True)
    for scale in scales:
        net.load[["p_mw", "q_mvar"]] = scale * loads
        pandapower.runpp(net, init="results", calculate_voltage_angles=True, numba=True)
    return net.res_bus.vm_pu.to_numpy().copy()


def with_kept_factors():
    with patch.object(newtonpf, "spsolve", KeptFactors()):
        return power_flows()


print(f"{len(net.bus):,} buses, {1 + len(scales)} power flows")
reference = power_flows()
compare(
    {"runpp with spsolve": power_flows, "runpp with lf.direct and update": with_kept_factors},
    lambda voltages: abs(voltages - reference).max(),
    "difference",
)
