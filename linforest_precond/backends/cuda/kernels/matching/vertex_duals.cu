// For each vertex the largest weight minus dual over its neighbours but one, at least 0; `width` lanes per row.
KERNEL find_best_offers(In<INDEX> indptr, In<INDEX> indices, In<WEIGHT> values, In<double> duals, In<INDEX> without,
                        double scale, i64 vertices, int width, double* __restrict__ offers) {
    const i64 rows = (i64)gridDim.x * blockDim.x / width;
    // The first row of a thread's warp: all of its lanes stay together for the shuffles.
    for (i64 base = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 32 * 32 / width; base < vertices; base += rows) {
        const int lane = threadIdx.x % width;
        const i64 v = base + threadIdx.x % 32 / width;
        double best = 0.0;
        if (v < vertices) {
            const INDEX left_out = without[v];
            for (i64 slot = (i64)indptr[v] + lane; slot < (i64)indptr[v + 1]; slot += width) {
                const INDEX x = indices[slot];
                if (x != v && x != left_out) best = fmax(best, fabs(widened(values[slot])) * scale - duals[x]);
            }
        }
        for (int distance = width / 2; distance > 0; distance /= 2)
            best = fmax(best, __shfl_xor_sync(FULL_WARP, best, distance));
        if (v < vertices && lane == 0) offers[v] = best;
    }
}
