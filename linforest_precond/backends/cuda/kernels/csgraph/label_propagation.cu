#include "matrix/long_row_split.cuh"

// Label propagation (U. N. Raghavan, R. Albert, S. Kumara, Phys. Rev. E 76, 2007, doi:10.1103/PhysRevE.76.036106) in
// rounds: a hashed half of the active vertices take the most frequent label of their neighbours.
struct Propagation {
    In<INDEX> indptr;
    In<int> indices;
    LongRows long_rows;
    // Each vertex's label, and its new one within a round.
    int *labels, *chosen;
    // Whether a neighbour's label has changed since a vertex's last update.
    u8* active;
    // Whether any vertex is active, in even rounds and in odd ones; zero at first.
    u8* any_active;
    // Per long row: a hash table of labels, SLOTS words for each piece, EMPTY at first; the best label in it and the
    // number of finished pieces, both zero at first; and whether the label changed.
    u64 *tables, *best;
    u32* arrived;
    u8* changed;
    // The lowest vertex of each vertex's community, and whether that is the vertex itself.
    int *roots, *is_root;
    i64 n;
    u64 seed;
    i64 max_iter;
};

#define SLOTS (2 * PIECE)
#define EMPTY (~0ull)
#define NO_LABEL 0xffffffffu
// The probability that an active vertex is updated in a round: one half, times 2^53.
#define HALF (1ull << 52)
// Rows of at most this many entries are processed by one thread, longer ones by a warp.
#define SHORT 8

// What labels are compared by: their count, then whether it is the vertex's own, then the lower label.
DEVICE u64 preference(u32 label, u32 count, u32 own) {
    return (u64)count << 33 | (u64)(label == own) << 32 | (u32)~label;
}
DEVICE u32 preferred_label(u64 preference) { return ~(u32)preference; }
DEVICE u64 warp_max(u64 value) {
    for (int half = 16; half > 0; half /= 2) value = max(value, __shfl_xor_sync(FULL_WARP, value, half));
    return value;
}

// The best label of a short row, 0 if there is none: all pairs of entries are compared.
DEVICE u64 best_of_short(const Propagation& p, const Part& part, u32 own) {
    u32 labels[SHORT];
    u64 best = 0;
#pragma unroll
    for (int i = 0; i < SHORT; ++i) {
        const int neighbour = i < part.length ? __ldg(p.indices + part.begin + i) : part.vertex;
        labels[i] = neighbour == part.vertex ? NO_LABEL : (u32)p.labels[neighbour];
    }
#pragma unroll
    for (int i = 0; i < SHORT; ++i) {
        u32 count = 0;
#pragma unroll
        for (int j = 0; j < SHORT; ++j) count += labels[j] == labels[i];
        if (labels[i] != NO_LABEL) best = max(best, preference(labels[i], count, own));
    }
    return best;
}

// A hash table with open addressing in shared memory: the labels of a part and their counts.
struct LabelCounts {
    u32 *labels, *counts;
    u32 size;
};

// The first slot to probe for a label (multiplicative hashing); probing is linear.
DEVICE u64 first_slot(u32 label, u64 size) { return (u64)(label * 0x9E3779B1u) * size >> 32; }

// Counts the labels of a part; by a warp.
DEVICE void count_labels(const Propagation& p, const Part& part, const LabelCounts& table) {
    const u32 lane = threadIdx.x % 32;
    __syncwarp();
    for (u32 slot = lane; slot < table.size; slot += 32) {
        table.labels[slot] = NO_LABEL;
        table.counts[slot] = 0;
    }
    __syncwarp();
    for (int i = lane; i < part.length; i += 32) {
        const int neighbour = __ldg(p.indices + part.begin + i);
        if (neighbour == part.vertex) continue;
        const u32 label = (u32)p.labels[neighbour];
        u32 slot = (u32)first_slot(label, table.size), found;
        while ((found = atomicCAS(table.labels + slot, NO_LABEL, label)) != NO_LABEL && found != label)
            slot = slot + 1 < table.size ? slot + 1 : 0;
        atomicAdd(table.counts + slot, 1u);
    }
    __syncwarp();
}

// Adds a count to the hash table of a long row; a word holds a label in its upper half and the count in its lower.
DEVICE void add_label(u64* words, u64 size, u32 label, u32 count) {
    for (u64 slot = first_slot(label, size);; slot = slot + 1 < size ? slot + 1 : 0) {
        u64 found = __ldcg(words + slot);
        if (found == EMPTY) found = atomicCAS(words + slot, EMPTY, (u64)label << 32 | count);
        if (found == EMPTY) return;
        if (found >> 32 != label) continue;
        atomicAdd(words + slot, (u64)count);
        return;
    }
}

DEVICE i64 row_length(const Propagation& p, int vertex) { return (i64)p.indptr[vertex + 1] - p.indptr[vertex]; }

// Updates the selected vertices: whole rows choose a label, pieces add their counts to the tables of their rows.
// Returns whether any of this thread's vertices is active, selected or not.
__device__ bool choose_labels(const Propagation& p, u64 key) {
    __shared__ u32 table_labels[8][SLOTS], table_counts[8][SLOTS];
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const i64 items = p.n + piece_count(p.long_rows);
    bool any = false;
    BLOCK_STRIDE (i64, base, items) {
        const i64 item = base + threadIdx.x;
        const Part part = part_of(p.indptr, (u32)p.n, p.long_rows, item < items ? (u32)item : NO_ITEM);
        const bool is_active = part.vertex != NOBODY && p.active[part.vertex];
        const bool selected = is_active && is_positive(key, HALF, (u64)part.vertex);
        const u32 own = selected ? (u32)p.labels[part.vertex] : 0;
        any |= is_active;
        if (part.vertex != NOBODY && part.owner != WHOLE) p.changed[part.owner] = 0;
        u64 best = 0;
        if (selected && part.owner == WHOLE && part.length <= SHORT) best = best_of_short(p, part, own);
        const bool by_warp = selected && (part.owner != WHOLE || part.length > SHORT);
        for (u32 left = __ballot_sync(FULL_WARP, by_warp); left; left &= left - 1) {
            const int source = __ffs(left) - 1;
            const Part other = from_lane(part, source);
            const u32 label = __shfl_sync(FULL_WARP, own, source);
            const LabelCounts table = {table_labels[warp], table_counts[warp], 2 * (u32)other.length};
            count_labels(p, other, table);
            u64* const words = other.owner == WHOLE ? nullptr : p.tables + (u64)p.long_rows.first[other.owner] * SLOTS;
            const u64 size = words ? (u64)pieces_in(row_length(p, other.vertex)) * SLOTS : 0;
            u64 found = 0;
            for (u32 slot = lane; slot < table.size; slot += 32) {
                const u32 count = table.counts[slot];
                if (!count) continue;
                if (words) add_label(words, size, table.labels[slot], count);
                else found = max(found, preference(table.labels[slot], count, label));
            }
            found = warp_max(found);
            if ((int)lane == source) best = found;
        }
        if (!selected || part.owner != WHOLE) continue;
        p.active[part.vertex] = 0;
        if (best) p.chosen[part.vertex] = (int)preferred_label(best);
    }
    return any;
}

// The selected long rows choose a label from their tables and empty these; a warp per piece.
__device__ void choose_labels_of_long_rows(const Propagation& p, u64 key) {
    const u32 lane = threadIdx.x % 32, pieces = piece_count(p.long_rows);
    GROUP_STRIDE (u32, piece, pieces, 32) {
        const u32 owner = p.long_rows.owners[piece];
        const int vertex = p.long_rows.rows[owner];
        if (!__ldcg(p.active + vertex) || !is_positive(key, HALF, (u64)vertex)) continue;
        const u32 own = (u32)p.labels[vertex];
        u64* const words = p.tables + (u64)piece * SLOTS;
        u64 best = 0;
        for (u32 slot = lane; slot < SLOTS; slot += 32) {
            const u64 word = __ldcg(words + slot);
            if (word == EMPTY) continue;
            best = max(best, preference((u32)(word >> 32), (u32)word, own));
            words[slot] = EMPTY;
        }
        best = warp_max(best);
        if (lane) continue;
        if (best) atomicMax(p.best + owner, best);
        __threadfence();
        if (atomicAdd(p.arrived + owner, 1u) + 1 < pieces_in(row_length(p, vertex))) continue;
        // The last piece of the row stores its label.
        __threadfence();
        best = atomicExch(p.best + owner, 0ull);
        p.arrived[owner] = 0;
        p.active[vertex] = 0;
        if (best) p.chosen[vertex] = (int)preferred_label(best);
        p.changed[owner] = p.chosen[vertex] != (int)own;
    }
}

// Stores the new labels and activates the neighbours of changed vertices.
__device__ void update_labels(const Propagation& p) {
    const u32 lane = threadIdx.x % 32;
    const i64 items = p.n + piece_count(p.long_rows);
    BLOCK_STRIDE (i64, base, items) {
        const i64 item = base + threadIdx.x;
        const Part part = part_of(p.indptr, (u32)p.n, p.long_rows, item < items ? (u32)item : NO_ITEM);
        bool changed = false;
        if (part.vertex != NOBODY && part.owner == WHOLE) {
            const int label = p.chosen[part.vertex];
            changed = label != p.labels[part.vertex];
            if (changed) p.labels[part.vertex] = label;
        }
        if (part.vertex != NOBODY && part.owner != WHOLE) {
            changed = p.changed[part.owner];
            if (changed && item - p.n == p.long_rows.first[part.owner]) p.labels[part.vertex] = p.chosen[part.vertex];
        }
        if (changed && part.length <= SHORT)
            for (int i = 0; i < part.length; ++i) p.active[__ldg(p.indices + part.begin + i)] = 1;
        for (u32 left = __ballot_sync(FULL_WARP, changed && part.length > SHORT); left; left &= left - 1) {
            const Part other = from_lane(part, __ffs(left) - 1);
            for (int i = lane; i < other.length; i += 32) p.active[__ldg(p.indices + other.begin + i)] = 1;
        }
    }
}

// The lowest vertex of every community; `chosen` is overwritten.
__device__ void find_roots(const Propagation& p, u32* barrier, u32& generation) {
    const i64 first = (i64)blockIdx.x * blockDim.x + threadIdx.x, step = (i64)gridDim.x * blockDim.x;
    int* const lowest = p.chosen;
    for (i64 v = first; v < p.n; v += step) lowest[v] = (int)p.n;
    grid_barrier(barrier, generation);
    for (i64 v = first; v < p.n; v += step)
        if (__ldcg(lowest + p.labels[v]) > v) atomicMin(lowest + p.labels[v], (int)v);
    grid_barrier(barrier, generation);
    for (i64 v = first; v < p.n; v += step) {
        p.roots[v] = __ldcg(lowest + p.labels[v]);
        p.is_root[v] = p.roots[v] == v;
    }
}

// All rounds, in one cooperative launch.
KERNEL __launch_bounds__(256) propagate(Propagation p, u32* barrier) {
    u32 generation = 0;
    GRID_STRIDE (i64, v, p.n) {
        p.labels[v] = p.chosen[v] = (int)v;
        p.active[v] = 1;
    }
    grid_barrier(barrier, generation);
    for (i64 round = 0; round < p.max_iter; ++round) {
        const u64 key = iteration_key(p.seed, 2 * round + 1);
        if (__syncthreads_or(choose_labels(p, key)) && threadIdx.x == 0) p.any_active[round % 2] = 1;
        grid_barrier(barrier, generation);
        if (!__ldcg(p.any_active + round % 2)) break;
        if (blockIdx.x == 0 && threadIdx.x == 0) p.any_active[(round + 1) % 2] = 0;
        if (p.long_rows.counts) {
            choose_labels_of_long_rows(p, key);
            grid_barrier(barrier, generation);
        }
        update_labels(p);
        grid_barrier(barrier, generation);
    }
    find_roots(p, barrier, generation);
}
