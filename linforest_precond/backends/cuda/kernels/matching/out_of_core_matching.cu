#include "runtime/edge_order.cuh"
#include "matrix/long_row_split.cuh"
#include "matching/best_edges.cuh"
#include "matching/set_pointers.cuh"

// Out-of-core matching of locally dominant edges: the graph is larger than the device's memory and is streamed through
// it in batches of consecutive rows.

// The entries of a batch on the device; `begin` is the slot of the first of them in the whole graph.
struct Batch {
    const INDEX* indices;
    const WEIGHT* values;
    i64 begin;
    i64 first, last;  // the vertices [first, last)
};

// Shifts the pointers of a search, so that it finds the entries of the batch at their slots in the whole graph.
DEVICE void use_batch(Search& search, const Batch& batch) {
    search.indices = batch.indices - batch.begin;
    search.values = batch.values - batch.begin;
}

// Lists the pieces of a batch's long rows; *count is zero at first.
KERNEL list_batch_pieces(Search search, Batch batch, u64* count) {
    append_all_pieces(search, batch.first, batch.last, count);
}

// The vertices of a batch set their pointers, except those with long rows.
KERNEL __launch_bounds__(256, 5)
    set_batch_pointers(Search search, Batch batch, const INDEX* mates, INDEX* pointers, u64 rounds) {
    use_batch(search, batch);
    SetPointers task = {mates, pointers, rounds == 0, false};
    search_rows(search, task, 0, batch.first, batch.last, gridDim.x);
}

// The vertices of a batch with long rows set their pointers.
KERNEL __launch_bounds__(256, 5) set_batch_pointers_by_pieces(Search search, Batch batch, const INDEX* mates,
                                                              INDEX* pointers, u64 rounds, const u64* count) {
    use_batch(search, batch);
    SetPointers task = {mates, pointers, rounds == 0, false};
    search_pieces(search, task, search.pieces, *count, gridDim.x);
}

// What a round reports to the host, zero at first.
struct Report {
    u64 matched;  // 1 when anything was matched
    u64 entries;  // in the rows of the vertices that may still be matched
    u64 open[1];  // for each batch, 1 when a vertex in it must set its pointer anew
};

// Matches mutual pointers and reports what is left. `ends` are the ends of the batches, in vertices.
KERNEL match_mutual(In<INDEX> indptr, In<INDEX> pointers, INDEX* mates, i64 rows, In<i64> ends, i64 batches,
                    Report* report) {
    u64 entries = 0;
    bool matched = false;
    GRID_STRIDE (i64, v, rows) {
        const ChoiceStatus status = mates[v] < 0 ? choice_status(pointers, (INDEX)v) : NO_CHOICE;
        if (status == NO_CHOICE) continue;
        if (status == MUTUAL) {
            mates[v] = pointers[v];
            matched = true;
            continue;
        }
        entries += (u64)(indptr[v + 1] - indptr[v]);
        if (status == TAKEN) report->open[lower_bound(ends, 0, batches, v + 1)] = 1;
    }
    entries = warp_sum(entries);
    if (threadIdx.x % 32 == 0 && entries) atomicAdd(&report->entries, entries);
    if (matched) report->matched = 1;
}

// Makes lengths of rows, in kept_indptr + 1, whose inclusive scan gives row pointers: those of the vertices that may
// still be matched, or with `taken_only` of those whose target was matched. Other rows are empty.
KERNEL keep_rows(In<INDEX> indptr, In<INDEX> pointers, In<INDEX> mates, i64 rows, i64 taken_only,
                 INDEX* __restrict__ kept_indptr) {
    GRID_STRIDE (i64, v, rows) {
        const INDEX target = mates[v] < 0 ? pointers[v] : NO_VERTEX;
        const bool keeps = target >= 0 && (!taken_only || mates[target] >= 0);
        kept_indptr[v + 1] = keeps ? indptr[v + 1] - indptr[v] : 0;
        if (v == 0) kept_indptr[0] = 0;
    }
}
