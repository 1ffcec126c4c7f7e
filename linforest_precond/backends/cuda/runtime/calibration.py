"""What work takes on this GPU, the numbers of the chooser's cost model; the memory that is left."""

from .lazy_cupy import cupy
from .streams import Stopwatch

# Flops a second of cuDSS, which may not be installed; products reach this share of a copy's bandwidth.
FACTOR_FLOPS, SHARE = 1e12, 0.85

# The numbers of one NVIDIA H200, where the rules were fitted.
DEFAULTS = (3.2e12, 1e-5, 1e12)
# Calls of an iteration of a Krylov method: of its own, and for each product with A.
CALLS, CALLS_OF_PRODUCT = 2, 1
# Seconds that the way to the host and back costs a direct factorization there.
CROSSING = 0.05


def measured():
    """Bytes a second of products, seconds of a launch, flops a second of a factorization; and that the
    device was idle, which is not known."""
    source, target, few = cupy.ones(32_000_000), cupy.ones(32_000_000), cupy.zeros(8)
    copy = min(_seconds(lambda: cupy.copyto(target, source)) for _ in range(4))
    calls = min(_seconds(lambda: [cupy.add(few, few, few) for _ in range(200)]) for _ in range(4))
    return (SHARE * 2 * source.nbytes / copy, calls / 200, FACTOR_FLOPS), True


def _seconds(work):
    watch = Stopwatch()
    work()
    watch.stop()
    return watch.milliseconds() / 1e3


def device():
    """What tells this GPU from others of the machine."""
    return f", GPU {cupy.cuda.Device().pci_bus_id}"


def free_bytes():
    """The free memory of the device, and the unused memory that CuPy's pool holds."""
    pool = cupy.get_default_memory_pool()
    return cupy.cuda.Device().mem_info[0] + pool.total_bytes() - pool.used_bytes()
