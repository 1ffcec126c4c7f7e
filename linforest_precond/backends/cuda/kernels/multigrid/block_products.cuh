// Products of a sparse matrix and one vector by CSR-Stream (Greathouse & Daga, "Efficient sparse matrix-vector
// multiplication on GPUs using the CSR storage format", SC 2014), by thread blocks. The products by warps in
// matrix/row_products.cuh are faster in kernels that do nothing else, and slower here, fused with more vectors.
#define ENTRIES (sizeof(VALUE) > 8 ? 1024 : 2048)

// Calls take(row, sum) for every row, with the products with the vector of entries source(column): a block takes THREADS
// rows at a time, writes the products of their entries to shared memory with coalesced loads, ENTRIES at a time, and
// every thread sums those of its row in order.
template <typename Source, typename Take>
DEVICE void each_block_product(In<INDEX> indptr, In<INDEX> indices, In<VALUE> data, i64 all_rows, Source source,
                               Take take) {
    __shared__ VALUE products[ENTRIES];
    __shared__ INDEX starts[THREADS + 1];
    for (i64 first = (i64)blockIdx.x * THREADS; first < all_rows; first += (i64)gridDim.x * THREADS) {
        const int rows = (int)min((i64)THREADS, all_rows - first);
        for (int i = threadIdx.x; i <= rows; i += THREADS) starts[i] = indptr[first + i];
        __syncthreads();
        const i64 begin = starts[0], end = starts[rows];
        const int row = min((int)threadIdx.x, rows - 1);
        const i64 own_begin = starts[row], own_end = threadIdx.x < rows ? (i64)starts[row + 1] : own_begin;
        VALUE sum = VALUE{};
        for (i64 base = begin; base < end; base += ENTRIES) {
            EACH (i, (int)(ENTRIES / THREADS)) {
                const i64 at = base + i * THREADS + threadIdx.x;
                if (at < end) {
                    const INDEX column = indices[at];
                    products[i * THREADS + threadIdx.x] = data[at] * source(column);
                }
            }
            __syncthreads();
            const i64 last = min(own_end, base + ENTRIES);
            for (i64 at = max(own_begin, base); at < last; ++at) sum = sum + products[at - base];
            __syncthreads();
        }
        if (threadIdx.x < rows) take(first + threadIdx.x, sum);
        __syncthreads();
    }
}
