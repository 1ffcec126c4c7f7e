#include "runtime/common.cuh"
#include "csgraph/sorted_neighbors.cuh"

// The most vertices of a batch, and no more than a block has threads.
#define MOST_BATCH 256

// Workers take batches of positions in order, and wait for lower batches alone: one worker by itself would finish.
struct Chain {
    // The next batch that nobody has taken, and how many lower batches have marked all their neighbours.
    u32 taken, discovered;
    // What the batch before leaves to the next, two words a batch, used in turn; see `leave`.
    u64 counted[2][2];
    // All vertices have their positions; or a worker waited in vain.
    u32 done, failed;
};

struct Batches {
    const Span* spans;
    const u32* neighbours;
    int* marks;
    // -1 until the vertex is known: a place is its own flag.
    int* order;
    // The first position of each batch and the one behind its last, or NO_RECORD.
    u64* records;
    Chain* chain;
    int vertices, start_count;
    u32 batch_size;
    // Polls without any progress of the chain that prove an error.
    u32 patience;
};
#define NO_RECORD (~0ull)

__device__ __forceinline__ u32 look(const u32* word) { return *(const volatile u32*)word; }
__device__ __forceinline__ u64 look(const u64* word) { return *(const volatile u64*)word; }
__device__ __forceinline__ int look(const int* word) { return *(const volatile int*)word; }
template <typename T>
__device__ __forceinline__ void put(T* place, T value) {
    *(volatile T*)place = value;
}

// Waits until ready() holds; false where there is nothing to wait for any more.
template <typename Ready>
__device__ __forceinline__ bool await(const Batches& b, Ready ready) {
    u32 polls = 0, seen = 0;
    while (!ready()) {
        if (look(&b.chain->done) || look(&b.chain->failed)) return false;
        if (++polls > b.patience) {
            const u32 discovered = look(&b.chain->discovered) + 1;
            if (discovered == seen) put(&b.chain->failed, 1u);
            seen = discovered;
            polls = 0;
        }
        __nanosleep(40);
    }
    return true;
}

// Where things stand after a batch: positions given, positions that are in a batch, batches made.
struct Tally {
    int placed, pending;
    u32 made;
};

// 30 bits hold each number; the rest of both words says which batch it is from.
__device__ __forceinline__ void leave(Chain* chain, u32 batch, const Tally& tally) {
    u64* const words = chain->counted[batch % 2];
    put(words, (u64)(batch & 15) << 60 | (u64)tally.placed << 30 | (u64)tally.pending);
    put(words + 1, (u64)batch << 32 | tally.made);
}
__device__ __forceinline__ bool inherit(const Chain* chain, u32 batch, Tally& tally) {
    const u64 *const words = chain->counted[batch % 2], one = look(words), other = look(words + 1);
    tally = {(int)(one >> 30 & VERTEX), (int)(one & VERTEX), (u32)other};
    return one >> 60 == (batch & 15) && other >> 32 == batch;
}

// Batches of the positions up to tally.placed: full ones and, where nobody has anything to do otherwise, the rest.
__device__ __forceinline__ void make_batches(const Batches& b, u32 batch, Tally& tally) {
    const u32 before = tally.made;
    for (;;) {
        const int left = tally.placed - tally.pending;
        const bool full = left >= (int)b.batch_size, idle = tally.made == before && before == batch + 1;
        if (!full && !(left && idle)) break;
        const int end = tally.pending + min(left, (int)b.batch_size);
        put(b.records + tally.made, (u64)tally.pending << 32 | (u64)end);
        tally.pending = end;
        ++tally.made;
    }
    if (tally.made == batch + 1 && tally.placed < b.vertices) put(&b.chain->failed, 2u);
}

// The batch that a block works on, in shared memory: its vertices' rows and the number of entries before each.
struct Work {
    u32 batch;
    int start, count;
    i64 begins[MOST_BATCH], before[MOST_BATCH];
    i64 entries;
    Tally tally;
    int children, piece;
};

// A neighbour of the batch and the position of the vertex it is a neighbour of.
struct Edge {
    u32 vertex;
    int position;
};

__device__ __forceinline__ Edge edge_of(const Batches& b, const Work& work, i64 entry) {
    int low = 0, high = work.count - 1;
    while (low < high) {
        const int middle = (low + high + 1) / 2;
        if (work.before[middle] <= entry) low = middle;
        else high = middle - 1;
    }
    return {__ldg(b.neighbours + work.begins[low] + entry - work.before[low]) & VERTEX, work.start + low};
}

// Its child, unless a lower position has it.
__device__ __forceinline__ bool is_child(const Batches& b, const Edge& edge) {
    return __ldcg(b.marks + edge.vertex) == edge.position;
}

// From the rows' lengths to the entries before each, by the first warp.
__device__ __forceinline__ void sum_rows(Work& work) {
    i64 base = 0;
    for (int first = 0; first < work.count; first += 32) {
        const int row = first + threadIdx.x;
        const i64 own = row < work.count ? work.before[row] : 0;
        i64 sum = own;
        for (int step = 1; step < 32; step *= 2) {
            const i64 other = __shfl_up_sync(FULL_WARP, sum, step);
            if ((int)threadIdx.x >= step) sum += other;
        }
        if (row < work.count) work.before[row] = base + sum - own;
        base += __shfl_sync(FULL_WARP, sum, 31);
    }
    if (threadIdx.x == 0) work.entries = base;
}

// The next batch, its vertices and their rows; false where there is none.
__device__ __forceinline__ bool take_batch(const Batches& b, Work& work) {
    bool on = true;
    if (threadIdx.x == 0) {
        u64 record = NO_RECORD;
        work.batch = atomicAdd(&b.chain->taken, 1u);
        // There are never more batches than vertices.
        on = work.batch < (u32)b.vertices &&
             await(b, [&] { return (record = look(b.records + work.batch)) != NO_RECORD; });
        work.start = (int)(record >> 32);
        work.count = (int)((u32)record - (u32)(record >> 32));
    }
    if (!__syncthreads_and(on)) return false;
    const int own = threadIdx.x;
    if (own < work.count) {
        int vertex = -1;
        on = await(b, [&] { return (vertex = look(b.order + work.start + own)) >= 0; });
        const Span span = on ? load_span(b.spans, (u32)vertex) : Span{0, 0};
        // The only neighbour of a leaf is its parent.
        const bool dead_end = span.length == 1 && work.start + own >= b.start_count;
        work.begins[own] = span.begin;
        work.before[own] = dead_end ? 0 : span.length;
    }
    if (!__syncthreads_and(on)) return false;
    if (threadIdx.x < 32) sum_rows(work);
    __syncthreads();
    return true;
}

// Tells that the marks of this batch and of all lower ones are made; false where nobody wants to know any more.
__device__ __forceinline__ bool pass_discovered(const Batches& b, const Work& work) {
    bool on = true;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        on = await(b, [&] { return look(&b.chain->discovered) == work.batch; });
        __threadfence();
        if (on) put(&b.chain->discovered, work.batch + 1);
    }
    return __syncthreads_and(on);
}

// Finds the positions of the children, which begin at tally.placed, and lets the next batch know.
__device__ __forceinline__ bool pass_counted(const Batches& b, Work& work) {
    bool on = true;
    if (threadIdx.x == 0) {
        on = await(b, [&] { return inherit(b.chain, work.batch - 1, work.tally); });
        Tally after = work.tally;
        after.placed += work.children;
        if (on && after.placed == b.vertices) {
            put(&b.chain->done, 1u);
        } else if (on) {
            make_batches(b, work.batch, after);
            leave(b.chain, work.batch, after);
        }
    }
    return __syncthreads_and(on);
}

// The children of rows that have more entries than the block has threads, a piece at a time.
__device__ void write_pieces(const Batches& b, Work& work) {
    int position = work.tally.placed;
    for (i64 base = 0; base < work.entries; base += blockDim.x) {
        const i64 entry = base + threadIdx.x;
        const Edge edge = entry < work.entries ? edge_of(b, work, entry) : Edge{0, -2};
        const bool held = entry < work.entries && is_child(b, edge);
        const int before = block_exclusive_sum(held, &work.piece);
        __syncthreads();
        if (held) put(b.order + position + before, (int)edge.vertex);
        position += work.piece;
        __syncthreads();
    }
}

// The order of Cuthill and McKee from all starts at once, in batches of vertices. Each batch marks its neighbours with
// its positions, the lowest one wins; when all lower batches have marked theirs, the neighbours that bear a
// vertex's position are its children. Where they go, the batch before tells.
extern "C" __global__ void __launch_bounds__(MOST_BATCH) traverse_batches(Batches b) {
    __shared__ Work work;
    while (take_batch(b, work)) {
        // The first piece stays at hand; mostly it is the only one.
        Edge first = {0, -2};
        for (i64 entry = threadIdx.x; entry < work.entries; entry += blockDim.x) {
            const Edge edge = edge_of(b, work, entry);
            if (entry < blockDim.x) first = edge;
            atomicMin(b.marks + edge.vertex, edge.position);
        }
        if (!pass_discovered(b, work)) return;
        const bool held = threadIdx.x < work.entries && is_child(b, first);
        int children = held;
        for (i64 entry = (i64)threadIdx.x + blockDim.x; entry < work.entries; entry += blockDim.x)
            children += is_child(b, edge_of(b, work, entry));
        const int before = block_exclusive_sum(children, &work.children);
        __syncthreads();
        if (!pass_counted(b, work)) return;
        if (work.entries > blockDim.x) write_pieces(b, work);
        else if (held) put(b.order + work.tally.placed + before, (int)first.vertex);
        __syncthreads();
    }
}
