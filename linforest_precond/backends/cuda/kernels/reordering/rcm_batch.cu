#include "runtime/common.cuh"
#include "csgraph/sorted_neighbors.cuh"

// Batch Cuthill-McKee (D. Mlakar, M. Winter, M. Parger, M. Steinberger, "Speculative Parallel Reverse Cuthill-McKee
// Reordering on Multi- and Many-core Architectures", IPDPS 2021). A worker is a block, a batch a range of positions.
// Workers take batches in ascending order and wait for lower batches only, so a single worker can always finish.

// The most vertices of a batch, and the most threads of a block.
#define MOST_BATCH 256

// The signals between batches.
struct Signals {
    // The next batch to take, and the number of batches that have marked their neighbours, all lower ones included.
    u32 taken, discovered;
    // The progress that a batch hands over to the next, two words for batches of even and of odd number; see `publish`.
    u64 counted[2][2];
    // Flags: all vertices have positions; the watchdog of a worker has expired.
    u32 done, failed;
};

struct BatchTraversal {
    const Span* spans;
    const u32* neighbours;
    // The lowest position of a numbered neighbour so far; -1 for the starts.
    int* marks;
    // -1 until the vertex is known, so a position is its own flag.
    int* order;
    // The range of positions of each batch, begin in the upper half and end in the lower, or NOT_MADE.
    u64* ranges;
    Signals* signals;
    int vertices, start_count;
    u32 batch_size;
    // Polls without progress after which the watchdog expires.
    u32 patience;
};
#define NOT_MADE (~0ull)

__device__ __forceinline__ u32 load_volatile(const u32* word) { return *(const volatile u32*)word; }
__device__ __forceinline__ u64 load_volatile(const u64* word) { return *(const volatile u64*)word; }
__device__ __forceinline__ int load_volatile(const int* word) { return *(const volatile int*)word; }
template <typename T>
__device__ __forceinline__ void store_volatile(T* place, T value) {
    *(volatile T*)place = value;
}

// Polls until ready() holds; false on completion or error.
template <typename Ready>
__device__ __forceinline__ bool spin_until(const BatchTraversal& b, Ready ready) {
    u32 polls = 0, seen = 0;
    while (!ready()) {
        if (load_volatile(&b.signals->done) || load_volatile(&b.signals->failed)) return false;
        if (++polls > b.patience) {
            const u32 discovered = load_volatile(&b.signals->discovered) + 1;
            if (discovered == seen) store_volatile(&b.signals->failed, 1u);
            seen = discovered;
            polls = 0;
        }
        __nanosleep(40);
    }
    return true;
}

// The progress after a batch: the positions assigned, the first position that is in no batch, the batches made.
struct Progress {
    int assigned, pending;
    u32 made;
};

// Two words: the low 4 bits of the batch's number and two positions of 30 bits; the batch's number and the number of
// batches made. Both carry the batch, so a reader can tell that both are current.
__device__ __forceinline__ void publish(Signals* signals, u32 batch, const Progress& progress) {
    u64* const words = signals->counted[batch % 2];
    store_volatile(words, (u64)(batch & 15) << 60 | (u64)progress.assigned << 30 | (u64)progress.pending);
    store_volatile(words + 1, (u64)batch << 32 | progress.made);
}
__device__ __forceinline__ bool try_read(const Signals* signals, u32 batch, Progress& progress) {
    const u64 *const words = signals->counted[batch % 2], one = load_volatile(words), other = load_volatile(words + 1);
    progress = {(int)(one >> 30 & VERTEX), (int)(one & VERTEX), (u32)other};
    return one >> 60 == (batch & 15) && other >> 32 == batch;
}

// Makes batches of the pending positions: full ones, and a partial one where no other batch exists that could fill it.
__device__ __forceinline__ void make_batches(const BatchTraversal& b, u32 batch, Progress& progress) {
    const u32 before = progress.made;
    for (;;) {
        const int left = progress.assigned - progress.pending;
        const bool full = left >= (int)b.batch_size, idle = progress.made == before && before == batch + 1;
        if (!full && !(left && idle)) break;
        const int end = progress.pending + min(left, (int)b.batch_size);
        store_volatile(b.ranges + progress.made, (u64)progress.pending << 32 | (u64)end);
        progress.pending = end;
        ++progress.made;
    }
    if (progress.made == batch + 1 && progress.assigned < b.vertices) store_volatile(&b.signals->failed, 2u);
}

// The current batch of a block, in shared memory: the offsets of its rows and the exclusive scan of their lengths.
struct Batch {
    u32 number;
    int start, count;
    i64 begins[MOST_BATCH], before[MOST_BATCH];
    i64 entries;
    Progress progress;
    int children, chunk;
};

// A neighbour and the position of the vertex in whose row it is.
struct Edge {
    u32 vertex;
    int position;
};

// The edge of an entry of the batch; binary search of the scan for its row.
__device__ __forceinline__ Edge edge_of(const BatchTraversal& b, const Batch& batch, i64 entry) {
    int low = 0, high = batch.count - 1;
    while (low < high) {
        const int middle = (low + high + 1) / 2;
        if (batch.before[middle] <= entry) low = middle;
        else high = middle - 1;
    }
    return {__ldg(b.neighbours + batch.begins[low] + entry - batch.before[low]) & VERTEX, batch.start + low};
}

// Whether the neighbour is a child of the position: no lower one has marked it.
__device__ __forceinline__ bool is_child(const BatchTraversal& b, const Edge& edge) {
    return __ldcg(b.marks + edge.vertex) == edge.position;
}

// Exclusive scan of the rows' lengths, by the first warp.
__device__ __forceinline__ void scan_rows(Batch& batch) {
    i64 base = 0;
    for (int first = 0; first < batch.count; first += 32) {
        const int row = first + threadIdx.x;
        const i64 own = row < batch.count ? batch.before[row] : 0;
        i64 sum = own;
        for (int step = 1; step < 32; step *= 2) {
            const i64 other = __shfl_up_sync(FULL_WARP, sum, step);
            if ((int)threadIdx.x >= step) sum += other;
        }
        if (row < batch.count) batch.before[row] = base + sum - own;
        base += __shfl_sync(FULL_WARP, sum, 31);
    }
    if (threadIdx.x == 0) batch.entries = base;
}

// Takes the next batch and loads its vertices' rows; false if there is none.
__device__ __forceinline__ bool take_batch(const BatchTraversal& b, Batch& batch) {
    bool running = true;
    if (threadIdx.x == 0) {
        u64 range = NOT_MADE;
        batch.number = atomicAdd(&b.signals->taken, 1u);
        // No batch is empty, so there are at most as many as vertices.
        running = batch.number < (u32)b.vertices &&
                  spin_until(b, [&] { return (range = load_volatile(b.ranges + batch.number)) != NOT_MADE; });
        batch.start = (int)(range >> 32);
        batch.count = (int)((u32)range - (u32)(range >> 32));
    }
    if (!__syncthreads_and(running)) return false;
    const int own = threadIdx.x;
    if (own < batch.count) {
        int vertex = -1;
        running = spin_until(b, [&] { return (vertex = load_volatile(b.order + batch.start + own)) >= 0; });
        const Span span = running ? load_span(b.spans, (u32)vertex) : Span{0, 0};
        // The only neighbour of a leaf is its parent.
        const bool dead_end = span.length == 1 && batch.start + own >= b.start_count;
        batch.begins[own] = span.begin;
        batch.before[own] = dead_end ? 0 : span.length;
    }
    if (!__syncthreads_and(running)) return false;
    if (threadIdx.x < 32) scan_rows(batch);
    __syncthreads();
    return true;
}

// Waits until all lower batches have marked their neighbours, and signals the same of this one; false on completion or
// error.
__device__ __forceinline__ bool signal_discovered(const BatchTraversal& b, const Batch& batch) {
    bool running = true;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        running = spin_until(b, [&] { return load_volatile(&b.signals->discovered) == batch.number; });
        __threadfence();
        if (running) store_volatile(&b.signals->discovered, batch.number + 1);
    }
    return __syncthreads_and(running);
}

// Waits for the progress of the batch before, which tells the first position of the children, makes new batches, and
// signals the next batch; false on completion or error.
__device__ __forceinline__ bool signal_counted(const BatchTraversal& b, Batch& batch) {
    bool running = true;
    if (threadIdx.x == 0) {
        running = spin_until(b, [&] { return try_read(b.signals, batch.number - 1, batch.progress); });
        Progress after = batch.progress;
        after.assigned += batch.children;
        if (running && after.assigned == b.vertices) {
            store_volatile(&b.signals->done, 1u);
        } else if (running) {
            make_batches(b, batch.number, after);
            publish(b.signals, batch.number, after);
        }
    }
    return __syncthreads_and(running);
}

// Writes the children of a batch with more entries than the block has threads, a chunk at a time.
__device__ void write_chunks(const BatchTraversal& b, Batch& batch) {
    int position = batch.progress.assigned;
    for (i64 base = 0; base < batch.entries; base += blockDim.x) {
        const i64 entry = base + threadIdx.x;
        const Edge edge = entry < batch.entries ? edge_of(b, batch, entry) : Edge{0, -2};
        const bool held = entry < batch.entries && is_child(b, edge);
        const int before = block_exclusive_sum(held, &batch.chunk);
        __syncthreads();
        if (held) store_volatile(b.order + position + before, (int)edge.vertex);
        position += batch.chunk;
        __syncthreads();
    }
}

// The Cuthill-McKee order from all starts at once. Each batch marks its neighbours with its positions by atomic minima.
// When all lower batches have done so, the neighbours with a vertex's mark are its children. Their positions follow
// from the progress of the batch before.
extern "C" __global__ void __launch_bounds__(MOST_BATCH) traverse_batches(BatchTraversal b) {
    __shared__ Batch batch;
    while (take_batch(b, batch)) {
        // The first chunk is kept in registers; mostly it is the only one.
        Edge first = {0, -2};
        for (i64 entry = threadIdx.x; entry < batch.entries; entry += blockDim.x) {
            const Edge edge = edge_of(b, batch, entry);
            if (entry < blockDim.x) first = edge;
            atomicMin(b.marks + edge.vertex, edge.position);
        }
        if (!signal_discovered(b, batch)) return;
        const bool held = threadIdx.x < batch.entries && is_child(b, first);
        int children = held;
        for (i64 entry = (i64)threadIdx.x + blockDim.x; entry < batch.entries; entry += blockDim.x)
            children += is_child(b, edge_of(b, batch, entry));
        const int before = block_exclusive_sum(children, &batch.children);
        __syncthreads();
        if (!signal_counted(b, batch)) return;
        if (batch.entries > blockDim.x) write_chunks(b, batch);
        else if (held) store_volatile(b.order + batch.progress.assigned + before, (int)first.vertex);
        __syncthreads();
    }
}
