// The queue of batches: how many are made of the children of a batch, and where they begin and end.

// How batches are made of new positions: `batch_size` at a time; as few as an ideal packing needs, with the degrees
// spread evenly; or by next-fit packing into more than enough.
#define BY_SIZE 0
#define EVENLY 1
#define WITH_SPARES 2

// The signals between batches.
struct Signals {
    // The next batch to take, and the number of batches that have marked their neighbours, all lower ones included.
    u32 taken, discovered;
    // The progress that a batch hands over to the next, for batches of even and of odd number; see `publish`.
    u64 counted[2][4];
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
    // Cycles and counts of the parts, or null.
    u64* statistics;
    int vertices, start_count;
    // The length of `ranges`; vertices and degrees of a full batch; batches in progress in a block.
    u32 most_batches, batch_size, capacity, concurrent;
    int early, packing;
    // Polls without progress after which the watchdog expires.
    u32 patience;
};
#define NOT_MADE (~0ull)

// The progress after a batch: the positions assigned, the first position that is in no batch and the sum of degrees
// from there on, the batches made.
struct Progress {
    int assigned, pending;
    u32 overhang, made;
};

// Three words: the low 4 bits of the batch's number and two positions of 30 bits; the batch's number and the number of
// batches made; the batch's number and the overhang. All carry the batch, so a reader can tell that they are current.
DEVICE void publish(Signals* signals, u32 batch, const Progress& progress) {
    u64* const words = signals->counted[batch % 2];
    store_volatile(words, (u64)(batch & 15) << 60 | (u64)progress.assigned << 30 | (u64)progress.pending);
    store_volatile(words + 1, (u64)batch << 32 | progress.made);
    store_volatile(words + 2, (u64)batch << 32 | progress.overhang);
}
DEVICE bool try_read(const Signals* signals, u32 batch, Progress& progress) {
    const u64* const words = signals->counted[batch % 2];
    const u64 positions = load_volatile(words), made = load_volatile(words + 1), overhang = load_volatile(words + 2);
    progress = {(int)(positions >> 30 & VERTEX), (int)(positions & VERTEX), (u32)overhang, (u32)made};
    return positions >> 60 == (batch & 15) && made >> 32 == batch && overhang >> 32 == batch;
}

DEVICE i64 ceil_divide(i64 a, i64 b) { return (a + b - 1) / b; }

// The number of batches for positions with a sum of degrees. Next-fit packing closes a batch at `batch_size` positions,
// or where the next degree does not fit; the latter happens less than 2 * degrees / capacity times, since a batch and
// the vertex after it exceed the capacity.
DEVICE u32 batches_for(const BatchTraversal& b, i64 positions, i64 degrees, bool last) {
    const i64 size = b.batch_size, capacity = b.capacity;
    if (b.packing == BY_SIZE) {
        const u32 full = (u32)(positions / size);
        return last && !full && positions ? 1 : full;
    }
    if (!positions || (!last && 2 * positions < size && 2 * degrees < capacity)) return 0;
    if (b.packing == EVENLY) return (u32)max(ceil_divide(positions, size), ceil_divide(degrees, capacity));
    return (u32)(positions / size + ceil_divide(2 * degrees, capacity));
}

// The batches that are being filled: the current one and the end of those reserved, its range and sum of degrees, and
// the positions and degrees that are left for it and the batches after it.
struct Packing {
    u32 batch, last;
    int begin, end;
    i64 degrees, positions_left, degrees_left;
};

DEVICE void put(const BatchTraversal& b, u32 batch, int begin, int end) {
    store_volatile(b.ranges + batch, (u64)begin << 32 | (u64)end);
}

DEVICE void close(const BatchTraversal& b, Packing& packing) {
    put(b, packing.batch++, packing.begin, packing.end);
    packing.positions_left -= packing.end - packing.begin;
    packing.degrees_left -= packing.degrees;
    packing.begin = packing.end;
    packing.degrees = 0;
}

// Whether the current batch takes a vertex. Evenly: up to its share of the remaining degrees, but no fewer than the
// batches after it could not hold.
DEVICE bool accepts(const BatchTraversal& b, const Packing& packing, u32 degree) {
    const int held = packing.end - packing.begin, size = (int)b.batch_size;
    if (b.packing == WITH_SPARES) return !held || (held < size && packing.degrees + degree <= b.capacity);
    const i64 others = packing.last - packing.batch - 1;
    const i64 least = packing.positions_left - others * size, share = ceil_divide(packing.degrees_left, others + 1);
    return held < least || (held < size && packing.degrees < share);
}

DEVICE void pack(const BatchTraversal& b, Packing& packing, u32 degree) {
    if (!accepts(b, packing, degree) && packing.batch + 1 < packing.last) close(b, packing);
    ++packing.end;
    packing.degrees += degree;
}

// Closes the current batch; reserved batches that are not needed stay empty.
DEVICE void finish_packing(const BatchTraversal& b, Packing& packing) {
    while (packing.batch < packing.last) close(b, packing);
}

// Batches of `batch_size` positions.
DEVICE void make_full(const BatchTraversal& b, const Progress& before, u32 count, int assigned) {
    int begin = before.pending;
    for (u32 i = 0; i < count; ++i) {
        const int end = min(begin + (int)b.batch_size, assigned);
        put(b, before.made + i, begin, end);
        begin = end;
    }
}

// Assigns positions to the children, reserves batches for the positions that are in none, and signals the next batch to
// count. What is too little for a batch is left to the next one, if there is one in the queue. Returns the number of
// batches reserved.
DEVICE u32 reserve(const BatchTraversal& b, u32 batch, const Progress& before, int children, i64 child_degrees) {
    const int assigned = before.assigned + children;
    if (assigned == b.vertices) store_volatile(&b.signals->done, 1u);
    // The last batches have no children: they are made only where batches are counted.
    if (assigned == b.vertices && !b.statistics) return 0;
    const bool last = before.made == batch + 1;
    const i64 positions = assigned - before.pending, degrees = before.overhang + child_degrees;
    const u32 count = batches_for(b, positions, degrees, last);
    // No batch is left, and vertices are.
    if (last && !count && assigned < b.vertices) store_volatile(&b.signals->failed, 2u);
    Progress after = {assigned, before.pending, (u32)degrees, before.made + count};
    if (b.packing == BY_SIZE) {
        make_full(b, before, count, assigned);
        after.pending = (int)min((i64)assigned, before.pending + (i64)count * b.batch_size);
    } else if (count) {
        after.pending = assigned;
        after.overhang = 0;
    }
    publish(b.signals, batch, after);
    return count;
}
