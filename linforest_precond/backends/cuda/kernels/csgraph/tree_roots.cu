// Errors: the first vertex whose parent is out of range, and the first that leads to a cycle. The words hold
// complements, raised by atomicMax, so that zero means none.
enum Report { OUT_OF_RANGE, CYCLE };

DEVICE void report_first(u64* report, Report kind, i64 v) {
    if (~(u64)v > __ldcg(report + kind)) atomicMax(report + kind, ~(u64)v);
}

// A vertex whose parent is out of range counts as a root here and is reported at the end.
DEVICE bool is_root(In<INDEX> parents, i64 n, i64 v) { return parents[v] < 0 || parents[v] == v || parents[v] >= n; }

// Pointer jumping in one cooperative launch: after k rounds a vertex's pointer is 2^k steps up or at its root. A
// pointer that is at no root at the end leads to a cycle, even if it does not move any more. `changes` are three flags
// in rotation.
KERNEL __launch_bounds__(1024) jump(In<INDEX> parents, i64 n, INDEX* roots, u32* barrier, u32* changes, u64* report) {
    const i64 first = (i64)blockIdx.x * blockDim.x + threadIdx.x, stride = (i64)gridDim.x * blockDim.x;
    u32 generation = 0;
    for (i64 v = first; v < n; v += stride) roots[v] = is_root(parents, n, v) ? (INDEX)v : parents[v];
    grid_barrier(barrier, generation);
    bool going = true;
    for (int round = 0; going && (i64)1 << round < n; ++round) {
        bool changed = false;
        for (i64 v = first; v < n; v += stride) {
            const INDEX parent = __ldcg(roots + v), grandparent = __ldcg(roots + parent);
            if (grandparent == parent) continue;
            __stcg(roots + v, grandparent);
            changed = true;
        }
        if (__syncthreads_or(changed) && threadIdx.x == 0) changes[round % 3] = 1;
        if (blockIdx.x == 0 && threadIdx.x == 0) changes[(round + 1) % 3] = 0;
        grid_barrier(barrier, generation);
        going = __ldcg(changes + round % 3);
    }
    for (i64 v = first; v < n; v += stride) {
        if (parents[v] >= n) report_first(report, OUT_OF_RANGE, v);
        if (!is_root(parents, n, (i64)__ldcg(roots + v))) report_first(report, CYCLE, v);
    }
}
