#include "reordering/fixed_logarithm.cuh"

// The sum of the logarithms of positive integers: sums[0] of the whole parts, sums[1] of the fractions, zero at first.
KERNEL sum_logarithms(In<INDEX> numbers, i64 count, u64* sums) {
    u64 whole = 0, fraction = 0;
    GRID_STRIDE (i64, i, count) {
        const u64 logarithm = (u64)fixed_logarithm(numbers[i]);
        whole += logarithm >> 32;
        fraction += logarithm & 0xffffffffu;
    }
    whole = warp_sum(whole);
    fraction = warp_sum(fraction);
    if (threadIdx.x % 32 != 0) return;
    atomicAdd(sums, whole);
    atomicAdd(sums + 1, fraction);
}
