#include "csgraph/sorted_neighbors.cuh"
#include "reordering/position_rows.cuh"
#include "reordering/batch_queue.cuh"

// Batch Cuthill-McKee (D. Mlakar, M. Winter, M. Parger, M. Steinberger, "Speculative Parallel Reverse Cuthill-McKee
// Reordering on Multi- and Many-core Architectures", IPDPS 2021). A worker is a block, a batch a range of positions.
// Workers take batches in ascending order and wait for lower batches only, so a single worker can always finish.
//
// Rows are sorted by (degree, index) before, so that nothing is sorted between two signals. Threads of one block mark
// at the same time, so the marks are always read again, also where all lower batches had marked before.

// The stages of a batch: none; waits until it is made; waits until all lower batches have marked their neighbours; waits
// until all lower batches have counted their children.
enum Stage { FREE, QUEUED, SPECULATIVE, CONFIRMED };

// A batch in progress, in shared memory. `first` has an edge for each thread: most batches have no more.
struct Batch {
    Rows rows;
    Edge first[MOST_ROWS];
    i64 degrees;
    u32 number;
    int stage, children, chunk;
    Progress progress;
};
static_assert(sizeof(Batch) == BATCH_BYTES, "the size of a batch in rcm_batch.py");

// Cycles of the parts, then counts.
enum Statistic { DISCOVER, REDISCOVER, SIGNAL, OUTPUT, STALL, DEQUEUED, EXECUTED, EARLY, CHILDREN, SWITCHED };

DEVICE void add(const BatchTraversal& b, Statistic which, u64 value) {
    if (b.statistics) atomicAdd(b.statistics + which, value);
}

// The cycles since the last reading go to a part; thread 0 measures.
DEVICE void lap(const BatchTraversal& b, Statistic part, i64& last) {
    if (!b.statistics || threadIdx.x) return;
    const i64 now = clock64();
    add(b, part, (u64)(now - last));
    last = now;
}

DEVICE bool halted(const BatchTraversal& b) {
    return load_volatile(&b.signals->done) || load_volatile(&b.signals->failed);
}

// A poll without success. The watchdog expires after `patience` polls in which no batch has marked its neighbours.
DEVICE void pause(const BatchTraversal& b, u32& polls, u32& seen) {
    if (++polls > b.patience) {
        const u32 discovered = load_volatile(&b.signals->discovered) + 1;
        if (discovered == seen) store_volatile(&b.signals->failed, 1u);
        seen = discovered;
        polls = 0;
    }
    __nanosleep(40);
}

// Whether a batch can go on without waiting; thread 0 reads what it waits for.
DEVICE bool is_ready(const BatchTraversal& b, Batch& batch) {
    if (batch.stage == QUEUED) {
        if (batch.number >= b.most_batches) return false;
        const u64 range = load_volatile(b.ranges + batch.number);
        batch.rows.start = (int)(range >> 32);
        batch.rows.count = (int)((u32)range - (u32)(range >> 32));
        return range != NOT_MADE;
    }
    if (batch.stage == SPECULATIVE) return load_volatile(&b.signals->discovered) == batch.number;
    return batch.stage == CONFIRMED && try_read(b.signals, batch.number - 1, batch.progress);
}

// The lowest batch that can go on, or -1 on completion or error. While all wait, another batch is taken, unless one
// that was taken is not made yet: then no later one is.
__device__ int choose(const BatchTraversal& b, Batch* batches) {
    u32 polls = 0, seen = 0;
    for (;;) {
        int ready = -1, unused = -1;
        bool queued = false, held = false;
        for (int i = 0; i < (int)b.concurrent; ++i) {
            if (batches[i].stage == FREE) {
                unused = i;
                continue;
            }
            held = true;
            if (is_ready(b, batches[i])) {
                if (ready < 0 || batches[i].number < batches[ready].number) ready = i;
            } else if (batches[i].stage == QUEUED) {
                queued = true;
            }
        }
        if (ready >= 0) return ready;
        // Once all vertices have positions, the batches that are still in the queue have no children.
        if (halted(b)) return -1;
        if (unused >= 0 && !queued) {
            batches[unused].number = atomicAdd(&b.signals->taken, 1u);
            batches[unused].stage = QUEUED;
            if (held) add(b, SWITCHED, 1);
            continue;
        }
        pause(b, polls, seen);
    }
}

// Loads the rows of the batch's vertices; false on completion or error.
DEVICE bool load_rows(const BatchTraversal& b, Rows& rows) {
    const int own = threadIdx.x;
    bool running = true;
    if (own < rows.count) {
        u32 polls = 0, seen = 0;
        int vertex;
        while ((vertex = load_volatile(b.order + rows.start + own)) < 0 && (running = !halted(b)))
            pause(b, polls, seen);
        if (running) store_row(rows, b.spans, (u32)vertex, rows.start + own < b.start_count);
    }
    if (!__syncthreads_and(running)) return false;
    if (threadIdx.x < 32) scan_rows(rows);
    __syncthreads();
    return true;
}

// Marks the neighbours of the batch with its positions by atomic minima; false on completion or error.
__device__ bool discover(const BatchTraversal& b, Batch& batch) {
    const bool early = b.statistics && load_volatile(&b.signals->discovered) == batch.number;
    if (!load_rows(b, batch.rows)) return false;
    for (i64 entry = threadIdx.x; entry < batch.rows.entries; entry += blockDim.x) {
        const Edge edge = edge_of(batch.rows, b.neighbours, entry);
        if (entry < blockDim.x) batch.first[threadIdx.x] = edge;
        atomicMin(b.marks + edge.vertex, edge.position);
    }
    if (threadIdx.x == 0) {
        add(b, DEQUEUED, 1);
        add(b, EXECUTED, batch.rows.count > 0);
        add(b, EARLY, early);
    }
    return true;
}

// Whether the neighbour is a child of the position: no lower one has marked it.
DEVICE bool is_child(const BatchTraversal& b, const Edge& edge) {
    return __ldcg(b.marks + edge.vertex) == edge.position;
}

// The degree of a vertex as far as it fills a batch.
DEVICE u32 clamped_degree(const BatchTraversal& b, u32 vertex) {
    return (u32)min((i64)load_span(b.spans, vertex).length, (i64)b.capacity);
}

DEVICE void signal_discovered(const BatchTraversal& b, const Batch& batch) {
    if (threadIdx.x == 0) {
        __threadfence();
        store_volatile(&b.signals->discovered, batch.number + 1);
    }
}

// Counts the children among the neighbours, and their degrees. All lower batches have marked theirs.
__device__ void rediscover(const BatchTraversal& b, Batch& batch) {
    if (b.early) signal_discovered(b, batch);
    __syncthreads();
    int children = 0;
    i64 degrees = 0;
    for (i64 entry = threadIdx.x; entry < batch.rows.entries; entry += blockDim.x) {
        const bool kept = entry < blockDim.x;
        const Edge edge = kept ? batch.first[threadIdx.x] : edge_of(batch.rows, b.neighbours, entry);
        const bool child = is_child(b, edge);
        if (kept && !child) batch.first[threadIdx.x] = NO_EDGE;
        children += child;
        if (child && b.packing != BY_SIZE) degrees += clamped_degree(b, edge.vertex);
    }
    block_exclusive_sum(children, &batch.children);
    if (b.packing != BY_SIZE) block_exclusive_sum(degrees, &batch.degrees);
    __syncthreads();
    if (!b.early) signal_discovered(b, batch);
}

// Writes the children, a chunk of entries at a time, and packs them into the batches reserved.
__device__ void write_children(const BatchTraversal& b, Batch& batch, u32 reserved) {
    __shared__ u32 chunk_degrees[MOST_ROWS];
    const Progress& before = batch.progress;
    const bool packed = reserved && b.packing != BY_SIZE;
    Packing packing = {before.made,
                       before.made + reserved,
                       before.pending,
                       before.assigned,
                       before.overhang,
                       (i64)before.assigned + batch.children - before.pending,
                       before.overhang + batch.degrees};
    int position = before.assigned;
    for (i64 base = 0; base < batch.rows.entries; base += blockDim.x) {
        const i64 entry = base + threadIdx.x;
        Edge edge = NO_EDGE;
        if (entry < batch.rows.entries)
            edge = base == 0 ? batch.first[threadIdx.x] : edge_of(batch.rows, b.neighbours, entry);
        const bool child = edge.position >= 0 && (base == 0 || is_child(b, edge));
        const int place = block_exclusive_sum((int)child, &batch.chunk);
        if (child) {
            store_volatile(b.order + position + place, (int)edge.vertex);
            if (packed) chunk_degrees[place] = clamped_degree(b, edge.vertex);
        }
        __syncthreads();
        if (packed && threadIdx.x == 0)
            for (int i = 0; i < batch.chunk; ++i) pack(b, packing, chunk_degrees[i]);
        position += batch.chunk;
        __syncthreads();
    }
    if (packed && threadIdx.x == 0) finish_packing(b, packing);
}

// Places the children after those of all lower batches, which have counted theirs.
__device__ void place(const BatchTraversal& b, Batch& batch, i64& last) {
    __shared__ u32 reserved;
    const i64 degrees = b.packing == BY_SIZE ? 0 : batch.degrees;
    if (threadIdx.x == 0) reserved = reserve(b, batch.number, batch.progress, batch.children, degrees);
    __syncthreads();
    lap(b, SIGNAL, last);
    write_children(b, batch, reserved);
    if (threadIdx.x == 0) add(b, CHILDREN, (u64)batch.children);
    lap(b, OUTPUT, last);
}

// The Cuthill-McKee order from all starts at once. Each batch marks its neighbours with its positions by atomic minima.
// When all lower batches have done so, the neighbours with a vertex's mark are its children. Their positions follow
// from the progress of the batch before.
KERNEL __launch_bounds__(MOST_ROWS) traverse_batches(BatchTraversal b) {
    extern __shared__ Batch batches[];
    __shared__ int chosen;
    i64 last = clock64();
    for (int i = threadIdx.x; i < (int)b.concurrent; i += blockDim.x) batches[i].stage = FREE;
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0) {
            chosen = choose(b, batches);
            __threadfence();
        }
        __syncthreads();
        lap(b, STALL, last);
        if (chosen < 0) return;
        Batch& batch = batches[chosen];
        const int stage = batch.stage;
        if (stage == QUEUED) {
            if (!discover(b, batch)) return;
            lap(b, DISCOVER, last);
        } else if (stage == SPECULATIVE) {
            rediscover(b, batch);
            lap(b, REDISCOVER, last);
        } else {
            place(b, batch, last);
        }
        __syncthreads();
        if (threadIdx.x == 0) batch.stage = stage == QUEUED ? SPECULATIVE : stage == SPECULATIVE ? CONFIRMED : FREE;
    }
}
