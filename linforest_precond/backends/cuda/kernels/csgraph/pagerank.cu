#include "matrix/long_row_split.cuh"

// A matrix in CSR; `data` is null where all entries are 1. `partials` holds the sums of the pieces of long rows.
struct Matrix {
    In<INDEX> indptr, indices;
    In<VALUE> data;
    LongRows long_rows;
    double* partials;
};

struct PageRank {
    Matrix outgoing;  // the rows are the outgoing edges of the vertices
    Matrix incoming;  // the transpose
    In<double> personalization, dangling;
    // The initial ranks; overwritten by the result.
    double* ranks;
    // The inverse of the sum of a vertex's outgoing weights, 0 for a dangling vertex; its rank times that; and the
    // product of the incoming edges with these scaled ranks.
    double *inverses, *scaled_ranks, *sums;
    // Sums over chunks of vertices, two rows of the given capacity: the changes of ranks, and the dangling mass (the
    // ranks of vertices without outgoing edges).
    double* chunk_sums;
    i64 capacity;
    // The number of iterations, and the 1-norm of the last change.
    double* progress;
    i64 n, max_iter;
    double alpha, threshold;
};

// Lanes per part, each of which adds every fourth entry, and a lane's loads that are batched for memory-level
// parallelism.
#define GROUP 4
#define LOADS 4

DEVICE double product(const Matrix& m, i64 slot, const double* vector) {
    const double factor = vector ? vector[m.indices[slot]] : 1.0;
    return m.data ? widened(m.data[slot]) * factor : factor;
}

// The sum of a part, in all lanes of its group: four partial sums s0 to s3 of every fourth product, then
// (s0 + s2) + (s1 + s3).
DEVICE double part_sum(const Matrix& m, const Part& part, const double* vector) {
    double sum = 0.0;
    for (int first = threadIdx.x % GROUP; first < part.length; first += GROUP * LOADS) {
        double products[LOADS];
#pragma unroll
        for (int i = 0; i < LOADS; ++i) {
            const int place = first + i * GROUP;
            products[i] = place < part.length ? product(m, part.begin + place, vector) : 0.0;
        }
#pragma unroll
        for (int i = 0; i < LOADS; ++i) sum += products[i];
    }
    sum += __shfl_xor_sync(FULL_WARP, sum, 2);
    return sum + __shfl_xor_sync(FULL_WARP, sum, 1);
}

// The product of a matrix and a vector, or its row sums without a vector. The sums of a long row's pieces are dealt to
// 32 lanes in turn, and the lanes are added by a binary tree.
__device__ void multiply(const Matrix& m, i64 n, const double* vector, double* sums, u32* barrier, u32& generation) {
    const i64 items = n + piece_count(m.long_rows), groups = (i64)gridDim.x * blockDim.x / GROUP;
    const u32 lane = threadIdx.x % 32;
    for (i64 base = (i64)blockIdx.x * blockDim.x / GROUP; base < items; base += groups) {
        const i64 item = base + threadIdx.x / GROUP;
        const Part part = part_of(m.indptr, (u32)n, m.long_rows, item < items ? (u32)item : NO_ITEM);
        const double sum = part_sum(m, part, vector);
        if (lane % GROUP || part.vertex == NOBODY) continue;
        if (part.owner == WHOLE) sums[part.vertex] = sum;
        else m.partials[item - n] = sum;
    }
    grid_barrier(barrier, generation);
    if (!m.long_rows.counts) return;
    const u32 rows = row_count(m.long_rows);
    GROUP_STRIDE (u32, row, rows, 32) {
        const int vertex = m.long_rows.rows[row];
        const u32 first = m.long_rows.first[row], pieces = pieces_in((i64)m.indptr[vertex + 1] - m.indptr[vertex]);
        double sum = 0.0;
        for (u32 piece = lane; piece < pieces; piece += 32) sum += __ldcg(m.partials + first + piece);
        for (int half = 16; half > 0; half /= 2) sum += __shfl_down_sync(FULL_WARP, sum, half);
        if (lane == 0) sums[vertex] = sum;
    }
    grid_barrier(barrier, generation);
}

// The sums of two values over a chunk, by a block: `value(place, two values)`; the sums go to *first and *second.
template <typename Value>
DEVICE void sum_chunk(i64 chunk, i64 count, double* lanes, double* first, double* second, Value value) {
    double sums[2] = {0.0, 0.0};
#pragma unroll
    for (int j = 0; j < CHUNK; j += LANES) {
        const i64 place = chunk * CHUNK + j + threadIdx.x;
        double values[2] = {0.0, 0.0};
        if (place < count) value(place, values);
        sums[0] += values[0];
        sums[1] += values[1];
    }
    __syncthreads();
    const double sum = fold_lanes(sums, lanes);
    if (threadIdx.x == 0) *first = sum;
    if (threadIdx.x == 32) *second = sum;
}

// The sums of all chunks, by the same tree in every block.
DEVICE void sum_chunks(const PageRank& r, double* lanes, double* totals, u32* barrier, u32& generation) {
    double* values = r.chunk_sums;
    i64 count = (r.n + CHUNK - 1) / CHUNK;
    const auto value = [&](i64 place, double (&two)[2]) {
        two[0] = __ldcg(values + place);
        two[1] = __ldcg(values + r.capacity + place);
    };
    while (count > CHUNK) {
        const i64 chunks = (count + CHUNK - 1) / CHUNK;
        double* const next = values + count;
        for (i64 chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x)
            sum_chunk(chunk, count, lanes, next + chunk, next + r.capacity + chunk, value);
        grid_barrier(barrier, generation);
        values = next;
        count = chunks;
    }
    sum_chunk(0, count, lanes, totals, totals + 1, value);
    __syncthreads();
}

// Sets the new ranks, `rank(vertex)`. The totals are the 1-norm of the change and the dangling mass.
template <typename Rank>
DEVICE void update_ranks(const PageRank& r, double* lanes, double* totals, u32* barrier, u32& generation, Rank rank) {
    const i64 chunks = (r.n + CHUNK - 1) / CHUNK;
    for (i64 chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x)
        sum_chunk(chunk, r.n, lanes, r.chunk_sums + chunk, r.chunk_sums + r.capacity + chunk,
                  [&](i64 v, double (&two)[2]) {
                      const double before = r.ranks[v], after = rank(v), inverse = r.inverses[v];
                      two[0] = fabs(after - before);
                      two[1] = inverse == 0.0 ? after : 0.0;
                      r.ranks[v] = after;
                      r.scaled_ranks[v] = after * inverse;
                  });
    grid_barrier(barrier, generation);
    sum_chunks(r, lanes, totals, barrier, generation);
}

// PageRank by power iteration, in one cooperative launch.
KERNEL __launch_bounds__(LANES, 5) iterate(PageRank r, u32* barrier) {
    __shared__ double lanes[2 * LANES], totals[2];
    u32 generation = 0;
    multiply(r.outgoing, r.n, nullptr, r.sums, barrier, generation);
    GRID_STRIDE (i64, v, r.n) r.inverses[v] = r.sums[v] == 0.0 ? 0.0 : 1.0 / r.sums[v];
    grid_barrier(barrier, generation);
    update_ranks(r, lanes, totals, barrier, generation, [&](i64 v) { return r.ranks[v]; });
    i64 iterations = 0;
    double change = 0.0;
    do {
        const double dangling_mass = totals[1];
        multiply(r.incoming, r.n, r.scaled_ranks, r.sums, barrier, generation);
        update_ranks(r, lanes, totals, barrier, generation, [&](i64 v) {
            return r.alpha * (r.sums[v] + dangling_mass * r.dangling[v]) + (1.0 - r.alpha) * r.personalization[v];
        });
        change = totals[0];
        ++iterations;
    } while (iterations < r.max_iter && change >= r.threshold);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        r.progress[0] = (double)iterations;
        r.progress[1] = change;
    }
}
