#include "runtime/common.cuh"
#include "runtime/edge_order.cuh"
#include "matrix/long_row_split.cuh"
#include "matching/best_edges.cuh"
#include "matching/chosen_neighbor.cuh"
#include "matching/dominant_edges.cuh"

// The entries of a batch of rows; `begin` is the place of the first of them in the whole graph.
struct Batch {
    const INDEX* indices;
    const WEIGHT* values;
    i64 begin, first, last;  // and its vertices
};

// Searches see a batch as if the whole graph were there.
__device__ __forceinline__ void show(Search& search, const Batch& batch) {
    search.indices = batch.indices - batch.begin;
    search.values = batch.values - batch.begin;
}

// Lists the pieces of a batch's long rows; *count is zero at first.
extern "C" __global__ void list_batch_pieces(Search search, Batch batch, u64* count) {
    list_all_pieces(search, batch.first, batch.last, count);
}

// The vertices of a batch point, those with long rows aside.
extern "C" __global__ void __launch_bounds__(256, 5)
    point_batch(Search search, Batch batch, const INDEX* mates, INDEX* pointers, u64 rounds) {
    show(search, batch);
    Pointing task = {mates, pointers, rounds == 0, false};
    search_rows(search, task, 0, batch.first, batch.last, gridDim.x);
}

// The vertices of a batch point whose rows are long.
extern "C" __global__ void __launch_bounds__(256, 5)
    point_batch_pieces(Search search, Batch batch, const INDEX* mates, INDEX* pointers, u64 rounds, const u64* count) {
    show(search, batch);
    Pointing task = {mates, pointers, rounds == 0, false};
    search_pieces(search, task, search.pieces, *count, gridDim.x);
}

// What a round leaves, zero at first.
struct Report {
    u64 matched;  // 1 when anything was matched
    u64 entries;  // in the rows of the vertices that are left
    u64 open[1];  // for each batch, 1 when a vertex in it has to point anew
};

// Matches the edges that both ends point along, and tells what is left. `ends` are those of the batches.
extern "C" __global__ void match_mutual(const INDEX* __restrict__ indptr, const INDEX* __restrict__ pointers,
                                        INDEX* mates, i64 rows, const i64* __restrict__ ends, i64 batches,
                                        Report* report) {
    u64 entries = 0;
    bool matched = false;
    for (i64 v = (i64)blockIdx.x * blockDim.x + threadIdx.x; v < rows; v += (i64)gridDim.x * blockDim.x) {
        const Choice choice = mates[v] < 0 ? choice_of(pointers, (INDEX)v) : NONE;
        if (choice == NONE) continue;
        if (choice == MUTUAL) {
            mates[v] = pointers[v];
            matched = true;
            continue;
        }
        entries += (u64)(indptr[v + 1] - indptr[v]);
        if (choice == TAKEN) report->open[first_not_less(ends, 0, batches, v + 1)] = 1;
    }
    entries = warp_sum(entries);
    if (threadIdx.x % 32 == 0 && entries) atomicAdd(&report->entries, entries);
    if (matched) report->matched = 1;
}

// Lanes to a row that is kept.
#define KEEPING_LANES 8

// Copies the rows of a batch that have room in the rows kept.
extern "C" __global__ void keep_rows(const INDEX* __restrict__ indptr, Batch batch,
                                     const INDEX* __restrict__ kept_indptr, INDEX* __restrict__ kept_indices,
                                     WEIGHT* __restrict__ kept_values) {
    const i64 rows_at_once = (i64)gridDim.x * blockDim.x / KEEPING_LANES;
    const i64 own = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / KEEPING_LANES;
    for (i64 v = batch.first + own; v < batch.last; v += rows_at_once) {
        const i64 from = (i64)indptr[v] - batch.begin, to = kept_indptr[v], length = (i64)kept_indptr[v + 1] - to;
        for (i64 i = threadIdx.x % KEEPING_LANES; i < length; i += KEEPING_LANES) {
            kept_indices[to + i] = batch.indices[from + i];
            kept_values[to + i] = batch.values[from + i];
        }
    }
}
