#include "tridiagonal/pivots.cuh"

struct GridBarrier {
    u32* arrivals;
    u32 generation;

    DEVICE void operator()() { grid_barrier(arrivals, generation); }
};

// All levels of a system by all blocks of a cooperative launch. The barrier follows the report.
KERNEL __launch_bounds__(128) pivots_at_once(const Block* lower, const Block* diagonal, const Block* upper, i64 count,
                                             int perturb, char* memory, Block* inverses, i64* report) {
    GridBarrier wait = {(u32*)(report + FOUND_COUNT), 0};
    const i64 thread = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    pivots_of_levels<LEVELS_AT_ONCE>({lower, diagonal, upper, count}, perturb, true, memory, inverses, report, thread,
                                     (i64)gridDim.x * blockDim.x, wait);
}
