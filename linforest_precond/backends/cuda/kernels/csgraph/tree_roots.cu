#include "runtime/common.cuh"

// The first vertex whose parent is none of the vertices, and the first from which no root is reached: complements,
// raised by atomicMax, so that zeroed memory means "none".
enum Report { OUTSIDE, ENDLESS };

__device__ __forceinline__ void report_first(u64* report, Report kind, i64 v) {
    if (~(u64)v > __ldcg(report + kind)) atomicMax(report + kind, ~(u64)v);
}

// A parent outside is reported; until then its vertex passes for a root.
__device__ __forceinline__ bool is_root(const INDEX* __restrict__ parents, i64 n, i64 v) {
    return parents[v] < 0 || parents[v] == v || parents[v] >= n;
}

// Pointer jumping in one cooperative launch: every vertex takes the place that its own place has taken, so that after k
// rounds it is 2^k steps up or at its root. A vertex that is at no root at the end leads into a cycle, even if it has come
// to rest there. `changes` are three words in turn.
extern "C" __global__ void __launch_bounds__(1024)
    jump(const INDEX* __restrict__ parents, i64 n, INDEX* roots, u32* barrier, u32* changes, u64* report) {
    const i64 first = (i64)blockIdx.x * blockDim.x + threadIdx.x, stride = (i64)gridDim.x * blockDim.x;
    u32 generation = 0;
    for (i64 v = first; v < n; v += stride) roots[v] = is_root(parents, n, v) ? (INDEX)v : parents[v];
    grid_barrier(barrier, generation);
    bool going = true;
    for (int round = 0; going && (i64)1 << round < n; ++round) {
        bool changed = false;
        for (i64 v = first; v < n; v += stride) {
            const INDEX place = __ldcg(roots + v), above = __ldcg(roots + place);
            if (above == place) continue;
            __stcg(roots + v, above);
            changed = true;
        }
        if (__syncthreads_or(changed) && threadIdx.x == 0) changes[round % 3] = 1;
        if (blockIdx.x == 0 && threadIdx.x == 0) changes[(round + 1) % 3] = 0;
        grid_barrier(barrier, generation);
        going = __ldcg(changes + round % 3);
    }
    for (i64 v = first; v < n; v += stride) {
        if (parents[v] >= n) report_first(report, OUTSIDE, v);
        if (!is_root(parents, n, (i64)__ldcg(roots + v))) report_first(report, ENDLESS, v);
    }
}
