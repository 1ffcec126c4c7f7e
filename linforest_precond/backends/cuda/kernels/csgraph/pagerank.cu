#include "runtime/common.cuh"
#include "matrix/long_row_split.cuh"

// A matrix whose rows are summed; `data` is null where all entries are 1. A long row's pieces leave their sums in
// `partials`.
struct Matrix {
    const INDEX* __restrict__ indptr;
    const INDEX* __restrict__ indices;
    const VALUE* __restrict__ data;
    LongRows long_rows;
    double* partials;
};

struct Ranking {
    Matrix leaving;  // a row to a vertex: the edges that leave it
    Matrix coming;   // the transpose
    const double* __restrict__ personalization;
    const double* __restrict__ dangling;
    // What the ranks are at first, and in the end.
    double* ranks;
    // One over the weight of the edges that leave a vertex, 0 where there are none; what flows along an edge of weight 1;
    // and what flows into a vertex.
    double* inverses;
    double* flows;
    double* sums;
    // Sums of chunks of vertices, two rows: what ranks changed by, and what vertices without edges spread.
    double* chunk_sums;
    i64 room;
    // Iterations made, and what the last one changed.
    double* progress;
    i64 n, max_iter;
    double alpha, goal;
};

// Lanes to a part, each of which sums every fourth entry, and the entries of a lane that are loaded side by side.
#define GROUP 4
#define SIDE_BY_SIDE 4

__device__ __forceinline__ double product(const Matrix& m, i64 slot, const double* vector) {
    const double factor = vector ? vector[m.indices[slot]] : 1.0;
    return m.data ? widened(m.data[slot]) * factor : factor;
}

// The sum of a part, in all lanes of its group: four sums of every fourth product; the first and third, the second and
// fourth, then both.
__device__ __forceinline__ double part_sum(const Matrix& m, const Part& part, const double* vector) {
    double sum = 0.0;
    for (int first = threadIdx.x % GROUP; first < part.length; first += GROUP * SIDE_BY_SIDE) {
        double products[SIDE_BY_SIDE];
#pragma unroll
        for (int i = 0; i < SIDE_BY_SIDE; ++i) {
            const int place = first + i * GROUP;
            products[i] = place < part.length ? product(m, part.begin + place, vector) : 0.0;
        }
#pragma unroll
        for (int i = 0; i < SIDE_BY_SIDE; ++i) sum += products[i];
    }
    sum += __shfl_xor_sync(FULL_WARP, sum, 2);
    return sum + __shfl_xor_sync(FULL_WARP, sum, 1);
}

// The sums of all rows of a matrix times a vector, or of the matrix where there is none. Those of a long row's pieces go to
// 32 lanes in turn, which are folded in halves.
__device__ void add_rows(const Matrix& m, i64 n, const double* vector, double* sums, u32* barrier, u32& generation) {
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
    const u32 rows = row_count(m.long_rows), warps = gridDim.x * blockDim.x / 32;
    for (u32 row = (blockIdx.x * blockDim.x + threadIdx.x) / 32; row < rows; row += warps) {
        const int vertex = m.long_rows.rows[row];
        const u32 first = m.long_rows.first[row], pieces = pieces_in((i64)m.indptr[vertex + 1] - m.indptr[vertex]);
        double sum = 0.0;
        for (u32 piece = lane; piece < pieces; piece += 32) sum += __ldcg(m.partials + first + piece);
        for (int half = 16; half > 0; half /= 2) sum += __shfl_down_sync(FULL_WARP, sum, half);
        if (lane == 0) sums[vertex] = sum;
    }
    grid_barrier(barrier, generation);
}

// Adds up two rows of values over a block's chunk: `value(place, two values)`; the sums go to *first and *second.
template <typename Value>
__device__ __forceinline__ void sum_chunk(i64 chunk, i64 count, double* lanes, double* first, double* second,
                                          Value value) {
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
__device__ __forceinline__ void sum_chunks(const Ranking& r, double* lanes, double* totals, u32* barrier,
                                           u32& generation) {
    double* values = r.chunk_sums;
    i64 count = (r.n + CHUNK - 1) / CHUNK;
    const auto value = [&](i64 place, double (&two)[2]) {
        two[0] = __ldcg(values + place);
        two[1] = __ldcg(values + r.room + place);
    };
    while (count > CHUNK) {
        const i64 chunks = (count + CHUNK - 1) / CHUNK;
        double* const next = values + count;
        for (i64 chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x)
            sum_chunk(chunk, count, lanes, next + chunk, next + r.room + chunk, value);
        grid_barrier(barrier, generation);
        values = next;
        count = chunks;
    }
    sum_chunk(0, count, lanes, totals, totals + 1, value);
    __syncthreads();
}

// Every vertex takes its new rank, `rank(vertex)`; gives the sum of changes and of what vertices without edges spread.
template <typename Rank>
__device__ __forceinline__ void take_ranks(const Ranking& r, double* lanes, double* totals, u32* barrier,
                                           u32& generation, Rank rank) {
    const i64 chunks = (r.n + CHUNK - 1) / CHUNK;
    for (i64 chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x)
        sum_chunk(chunk, r.n, lanes, r.chunk_sums + chunk, r.chunk_sums + r.room + chunk, [&](i64 v, double (&two)[2]) {
            const double before = r.ranks[v], after = rank(v), inverse = r.inverses[v];
            two[0] = fabs(after - before);
            two[1] = inverse == 0.0 ? after : 0.0;
            r.ranks[v] = after;
            r.flows[v] = after * inverse;
        });
    grid_barrier(barrier, generation);
    sum_chunks(r, lanes, totals, barrier, generation);
}

// PageRank by power iteration. A cooperative launch.
extern "C" __global__ void __launch_bounds__(LANES, 5) iterate(Ranking r, u32* barrier) {
    __shared__ double lanes[2 * LANES], totals[2];
    u32 generation = 0;
    add_rows(r.leaving, r.n, nullptr, r.sums, barrier, generation);
    for (i64 v = (i64)blockIdx.x * blockDim.x + threadIdx.x; v < r.n; v += (i64)gridDim.x * blockDim.x)
        r.inverses[v] = r.sums[v] == 0.0 ? 0.0 : 1.0 / r.sums[v];
    grid_barrier(barrier, generation);
    take_ranks(r, lanes, totals, barrier, generation, [&](i64 v) { return r.ranks[v]; });
    i64 iterations = 0;
    double change = 0.0;
    do {
        const double leak = totals[1];
        add_rows(r.coming, r.n, r.flows, r.sums, barrier, generation);
        take_ranks(r, lanes, totals, barrier, generation, [&](i64 v) {
            return r.alpha * (r.sums[v] + leak * r.dangling[v]) + (1.0 - r.alpha) * r.personalization[v];
        });
        change = totals[0];
        ++iterations;
    } while (iterations < r.max_iter && change >= r.goal);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        r.progress[0] = (double)iterations;
        r.progress[1] = change;
    }
}
