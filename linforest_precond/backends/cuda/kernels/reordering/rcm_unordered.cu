#include "csgraph/sorted_neighbors.cuh"
#include "reordering/position_rows.cuh"

// The Cuthill-McKee order by a pipeline of levels, after an unordered breadth-first search (K. I. Karantasis,
// A. Lenharth, D. Nguyen, M. J. Garzaran, K. Pingali, "Parallelization of reordering algorithms for bandwidth and
// wavefront reduction", SC 2014). A block processes a level: it takes the vertices as the block of the level above
// writes them, and writes their children. Blocks take levels in ascending order and wait for the level above only, so a
// single block can always finish.

// The next level to take; the vertices written, for the watchdog; whether it has expired.
struct LevelSignals {
    u32 taken, written, failed;
};

struct LevelTraversal {
    const Span* spans;
    const u32* neighbours;
    const int* depths;
    // The position at which each level begins, and the number of vertices at the end.
    const int* offsets;
    // The lowest position of a neighbour on the level above so far.
    int* marks;
    // -1 until the vertex is known, so a position is its own flag.
    int* order;
    LevelSignals* signals;
    int levels;
    // The most positions that are processed at a time; polls without progress after which the watchdog expires.
    u32 rows, patience;
};

// Waits until a position is written; false on an error. The watchdog expires after `patience` polls in which no block
// has written vertices.
DEVICE bool wait_for_position(const LevelTraversal& t, int position) {
    u32 polls = 0, seen = 0;
    while (load_volatile(t.order + position) < 0) {
        if (load_volatile(&t.signals->failed)) return false;
        if (++polls > t.patience) {
            const u32 written = load_volatile(&t.signals->written) + 1;
            if (written == seen) store_volatile(&t.signals->failed, 1u);
            seen = written;
            polls = 0;
        }
        __nanosleep(40);
    }
    return true;
}

// Loads the rows of the next positions that are written, at least one and at most `t.rows`; false on an error.
DEVICE bool load_written_rows(const LevelTraversal& t, Rows& rows, int position, int end, bool is_start) {
    bool running = true;
    if (threadIdx.x == 0) {
        running = wait_for_position(t, position);
        rows.start = position;
        rows.count = min((int)t.rows, end - position);
    }
    if (!__syncthreads_and(running)) return false;
    const int own = threadIdx.x, most = rows.count;
    const int vertex = own < most ? load_volatile(t.order + position + own) : 0;
    __syncthreads();
    if (vertex < 0) atomicMin(&rows.count, own);
    else if (own < most) store_row(rows, t.spans, (u32)vertex, is_start);
    __syncthreads();
    if (threadIdx.x < 32) scan_rows(rows);
    __syncthreads();
    return true;
}

// Marks the neighbours one level deeper with the positions of the rows, by atomic minima.
DEVICE void mark_deeper(const LevelTraversal& t, const Rows& rows, int depth) {
    for (i64 entry = threadIdx.x; entry < rows.entries; entry += blockDim.x) {
        const Edge edge = edge_of(rows, t.neighbours, entry);
        if (__ldg(t.depths + edge.vertex) == depth) atomicMin(t.marks + edge.vertex, edge.position);
    }
    __syncthreads();
}

// Writes the children of the rows from `tail` on, a chunk of entries at a time, and returns the new tail.
DEVICE int write_deeper(const LevelTraversal& t, const Rows& rows, int depth, int tail) {
    __shared__ int chunk;
    for (i64 base = 0; base < rows.entries; base += blockDim.x) {
        const i64 entry = base + threadIdx.x;
        Edge edge = NO_EDGE;
        if (entry < rows.entries) edge = edge_of(rows, t.neighbours, entry);
        const bool child = edge.position >= 0 && __ldg(t.depths + edge.vertex) == depth &&
                           __ldcg(t.marks + edge.vertex) == edge.position;
        const int place = block_exclusive_sum((int)child, &chunk);
        if (child) store_volatile(t.order + tail + place, (int)edge.vertex);
        __syncthreads();
        tail += chunk;
        __syncthreads();
    }
    return tail;
}

// Numbers the vertices one level deeper than `level`; false on an error, for instance if some of them have no neighbour
// on this level.
__device__ bool number_level(const LevelTraversal& t, Rows& rows, int level) {
    int position = t.offsets[level], tail = t.offsets[level + 1];
    const int end = tail, tail_end = t.offsets[level + 2];
    while (position < end && tail < tail_end) {
        if (!load_written_rows(t, rows, position, end, level == 0)) return false;
        mark_deeper(t, rows, level + 1);
        const int before = tail;
        tail = write_deeper(t, rows, level + 1, tail);
        position += rows.count;
        if (threadIdx.x == 0) atomicAdd(&t.signals->written, (u32)(tail - before));
        __syncthreads();
    }
    if (tail < tail_end && threadIdx.x == 0) store_volatile(&t.signals->failed, 2u);
    return tail == tail_end;
}

// The Cuthill-McKee order from all starts at once, which are the vertices of level 0.
KERNEL __launch_bounds__(MOST_ROWS) traverse_levels(LevelTraversal t) {
    __shared__ Rows rows;
    __shared__ int level;
    for (;;) {
        if (threadIdx.x == 0) level = (int)atomicAdd(&t.signals->taken, 1u);
        __syncthreads();
        const int own = level;
        __syncthreads();
        if (own + 1 >= t.levels) return;
        if (!number_level(t, rows, own)) return;
    }
}
