// A tile of entries: one block, ROUNDS entries per thread, THREADS apart.
#define THREADS 256
#define ROUNDS 8
#define TILE (THREADS * ROUNDS)

// What a pass finds, as in traffic.py. Slots are stored as their complement by atomicMax: zeroed memory means none, and
// the first slot wins. The total is kept in sums of the low and high halves of all packet counts: it may exceed int64.
enum Word { OUTSIDE, INVALID, LARGEST, LINKS, TOTAL_LOW, TOTAL_HIGH, DESCENTS, ROW_DESCENTS };

// The packets and links of one source or destination.
struct End {
    u64 packets, links;
};

DEVICE void add_to(End* end, u64 packets, u64 links) {
    atomicAdd(&end->packets, packets);
    atomicAdd(&end->links, links);
}

// A number of packets; -1 if it is negative, a fraction, or no int64.
DEVICE i64 whole_packets(i64 value) { return value < 0 ? -1 : value; }
template <typename Float>
DEVICE i64 whole_packets(Float value) {
    return value >= 0 && value < (Float)9223372036854775808.0 && floor(value) == value ? (i64)value : -1;
}

// Write-combining cache of destinations in shared memory. In power laws few destinations have many of the links, and
// atomic operations on one address in L2 serialize. The first destination to come keeps its slot: frequent ones come
// soon. The others are added in global memory.
#define SLOTS 1024
#define NO_COLUMN ((INDEX) - 1)

DEVICE int claim(int* tag, int column) { return atomicCAS(tag, -1, column); }
DEVICE i64 claim(i64* tag, i64 column) { return (i64)atomicCAS((u64*)tag, ~0ull, (u64)column); }

struct FrequentDestinations {
    u64 packets[SLOTS];
    u32 links[SLOTS];
    INDEX tags[SLOTS];

    DEVICE void clear() {
        for (int slot = threadIdx.x; slot < SLOTS; slot += THREADS) {
            tags[slot] = NO_COLUMN;
            packets[slot] = links[slot] = 0;
        }
    }
    DEVICE void add(INDEX column, u64 count, End* __restrict__ destinations) {
        const int slot = mix32((u32)column) % SLOTS;
        INDEX owner = *(volatile INDEX*)&tags[slot];
        if (owner == NO_COLUMN) {
            owner = claim(&tags[slot], column);
            if (owner == NO_COLUMN) owner = column;
        }
        if (owner != column) {
            add_to(destinations + column, count, 1);
            return;
        }
        atomicAdd(&packets[slot], count);
        atomicAdd(&links[slot], 1u);
    }
    DEVICE void flush(End* __restrict__ destinations) {
        for (int slot = threadIdx.x; slot < SLOTS; slot += THREADS)
            if (links[slot]) add_to(destinations + tags[slot], packets[slot], links[slot]);
    }
};

// A tile of a matrix: prefix sums of its packets, and a bit for every link. Rows take differences.
struct EntryTile {
    u64 packets_before[TILE + 1];
    u32 links[TILE / 32];
    u64 round_total;
    i64 first_row, last_row;

    DEVICE u64 links_in(int begin, int end) const {
        u64 count = 0;
        for (int word = begin / 32; word * 32 < end; ++word) {
            u32 bits = links[word];
            if (word == begin / 32) bits &= FULL_WARP << begin % 32;
            if (end < word * 32 + 32) bits &= (1u << end % 32) - 1;
            count += __popc(bits);
        }
        return count;
    }
};

// What a thread has found in its entries.
struct Findings {
    u64 largest, links, low, high, descents, row_descents;

    DEVICE void add(u64 count) {
        largest = max(largest, count);
        links += count > 0;
        low += (u32)count;
        high += count >> 32;
    }
    DEVICE void publish(u64* words) const {
        const u64 most = warp_max(largest);
        const u64 sums[] = {warp_sum(links), warp_sum(low), warp_sum(high), warp_sum(descents), warp_sum(row_descents)};
        if (threadIdx.x % 32) return;
        atomicMax(words + LARGEST, most);
        for (int i = 0; i < 5; ++i)
            if (sums[i]) atomicAdd(words + LINKS + i, sums[i]);
    }
};

// The row of a stored entry: the last row that begins at or before it.
DEVICE i64 row_of(In<i64> indptr, i64 rows, i64 slot) { return lower_bound(indptr, (i64)0, rows + 1, slot + 1) - 1; }

// One pass over `count` entries from entry `first` on: adds each link's packets to its source and its destination.
// `indices` and `values` begin at entry `first`; `lead` tells that the column before can be read, too. In a matrix with
// sorted rows, columns descend where rows begin and nowhere else: both are counted.
KERNEL __launch_bounds__(THREADS)
    add_entries(In<i64> indptr, i64 rows, In<INDEX> indices, In<VALUE> values, i64 first, i64 count, i64 width,
                i64 lead, End* __restrict__ sources, End* __restrict__ destinations, u64* words) {
    __shared__ FrequentDestinations frequent;
    __shared__ EntryTile tile;
    Findings found = {};
    frequent.clear();
    for (i64 base = (i64)blockIdx.x * TILE; base < count; base += (i64)gridDim.x * TILE) {
        const int size = (int)min((i64)TILE, count - base);
        __syncthreads();
        if (threadIdx.x == 0) tile.first_row = row_of(indptr, rows, first + base);
        if (threadIdx.x == 32) tile.last_row = row_of(indptr, rows, first + base + size - 1);
        i64 counts[ROUNDS];
        INDEX columns[ROUNDS];
#pragma unroll
        for (int round = 0; round < ROUNDS; ++round) {
            const int place = round * THREADS + threadIdx.x;
            const i64 entry = base + min(place, size - 1);
            columns[round] = indices[entry];
            counts[round] = place < size ? whole_packets(values[entry]) : 0;
            if (place < size && entry + lead > 0) found.descents += columns[round] <= indices[entry - 1];
        }
        u64 before = 0;
#pragma unroll
        for (int round = 0; round < ROUNDS; ++round) {
            const int place = round * THREADS + threadIdx.x;
            const u64 slot = first + base + place;
            const bool inside = (u64)columns[round] < (u64)width;
            if (!inside && place < size) atomicMax(words + OUTSIDE, ~slot);
            if (counts[round] < 0) atomicMax(words + INVALID, ~slot);
            const u64 packets = inside && counts[round] > 0 ? counts[round] : 0;
            if (packets) frequent.add(columns[round], packets, destinations);
            found.add(packets);
            const u32 bits = __ballot_sync(FULL_WARP, packets > 0);
            if (threadIdx.x % 32 == 0) tile.links[place / 32] = bits;
            tile.packets_before[place] = before + block_exclusive_sum(packets, &tile.round_total);
            __syncthreads();
            before += tile.round_total;
            __syncthreads();
        }
        if (threadIdx.x == 0) tile.packets_before[TILE] = before;
        __syncthreads();
        for (i64 row = tile.first_row + threadIdx.x; row <= tile.last_row; row += THREADS) {
            const i64 row_begin = indptr[row] - first - base, row_end = indptr[row + 1] - first - base;
            const int begin = (int)max(row_begin, (i64)0), end = (int)min(row_end, (i64)size);
            if (begin >= end) continue;
            if (row_begin >= 0 && base + begin + lead > 0)
                found.row_descents += indices[base + begin] <= indices[base + begin - 1];
            const u64 packets = tile.packets_before[end] - tile.packets_before[begin];
            const u64 links = tile.links_in(begin, end);
            if (!links) continue;
            // A row inside one tile is complete: only others need atomic operations.
            if (row_begin >= 0 && row_end <= size) sources[row] = {packets, links};
            else add_to(sources + row, packets, links);
        }
    }
    __syncthreads();
    frequent.flush(destinations);
    found.publish(words);
}

// Of all sources, or of all destinations: how many have packets, and the most packets and links of one.
KERNEL sum_up_ends(In<End> ends, i64 count, u64* words) {
    u64 used = 0, packets = 0, links = 0;
    GRID_STRIDE (i64, i, count) {
        const End end = ends[i];
        used += end.links > 0;
        packets = max(packets, end.packets);
        links = max(links, end.links);
    }
    used = warp_sum(used);
    packets = warp_max(packets);
    links = warp_max(links);
    if (threadIdx.x % 32) return;
    atomicAdd(words, used);
    atomicMax(words + 1, packets);
    atomicMax(words + 2, links);
}
