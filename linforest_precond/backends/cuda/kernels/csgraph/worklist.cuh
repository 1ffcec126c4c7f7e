// Greedy algorithms in a fixed vertex order, in parallel rounds over a worklist of undecided vertices: each round
// rescans a row from the saved offset to the first undecided neighbour of higher priority.

// A vertex's priority, lower words first: five bits of class, 27 of a hash, 32 of index.
DEVICE u64 priority_word(u32 rank, u32 vertex, u32 tie_key) {
    const u32 hash = mix32(tie_key + vertex * 0x9E3779B1u) >> 5;
    return (u64)(rank << 27 | hash) << 32 | vertex;
}

// The outcome of a scan: all neighbours passed, blocked by an undecided one, rejected by a decided one, or more entries
// to scan.
enum Outcome { PASSED, BLOCKED, REJECTED, INCOMPLETE };

// Entries that a thread scans before its warp takes over, and loads that it batches for memory-level parallelism.
#define THREAD_ENTRIES 16
#define LOADS 4

// Scan by one thread. A Problem has `indices`, the columns of all rows; `fetch(neighbour)`, which loads a neighbour's
// state; and `check(own priority, neighbour, state)`, the outcome of one neighbour.
template <typename Problem>
DEVICE Outcome scan_by_thread(const Problem& problem, const Part& part, u64 own, int& offset) {
    const int stop = min(part.length, offset + THREAD_ENTRIES);
    while (offset < stop) {
        int neighbours[LOADS];
        typename Problem::State states[LOADS];
#pragma unroll
        for (int i = 0; i < LOADS; ++i) neighbours[i] = __ldg(problem.indices + part.begin + min(offset + i, stop - 1));
#pragma unroll
        for (int i = 0; i < LOADS; ++i) states[i] = problem.fetch(neighbours[i]);
#pragma unroll
        for (int i = 0; i < LOADS; ++i) {
            const Outcome outcome = problem.check(own, neighbours[i], states[i]);
            if (outcome == PASSED) continue;
            offset = min(offset + i, stop - 1);
            return outcome;
        }
        offset = min(offset + LOADS, stop);
    }
    return offset < part.length ? INCOMPLETE : PASSED;
}

// Scan of one part by a warp.
template <typename Problem>
DEVICE Outcome scan_by_warp(const Problem& problem, const Part& part, u64 own, int& offset) {
    for (; offset < part.length; offset += 32) {
        const int place = offset + threadIdx.x % 32;
        Outcome outcome = PASSED;
        if (place < part.length) {
            const int neighbour = __ldg(problem.indices + part.begin + place);
            outcome = problem.check(own, neighbour, problem.fetch(neighbour));
        }
        const u32 stopped = __ballot_sync(FULL_WARP, outcome != PASSED);
        if (!stopped) continue;
        offset += __ffs(stopped) - 1;
        return (Outcome)__shfl_sync(FULL_WARP, (int)outcome, __ffs(stopped) - 1);
    }
    offset = part.length;
    return PASSED;
}

// Scans the wanted parts of a warp's lanes from their offsets on; called by all lanes.
template <typename Problem>
DEVICE Outcome scan_neighbours(const Problem& problem, const Part& part, u64 own, bool wanted, int& offset) {
    Outcome outcome = wanted ? scan_by_thread(problem, part, own, offset) : PASSED;
    for (u32 left = __ballot_sync(FULL_WARP, outcome == INCOMPLETE); left; left &= left - 1) {
        const int lane = __ffs(left) - 1;
        int reached = __shfl_sync(FULL_WARP, offset, lane);
        const Outcome found = scan_by_warp(problem, from_lane(part, lane), __shfl_sync(FULL_WARP, own, lane), reached);
        if ((int)(threadIdx.x % 32) != lane) continue;
        outcome = found;
        offset = reached;
    }
    return outcome;
}

// A double-buffered list of items, each buffer of the given capacity, and three lengths in rotation, zero at first.
struct Worklist {
    u32* items;
    u64* lengths;
    u64 capacity;
};

// The first block alone processes lists for at most this many threads, without grid barriers.
#define SINGLE_BLOCK 512

// Processes items 0 to count - 1 in rounds within a cooperative launch: `examine(item)`, called by all lanes of a warp,
// tells whether the item stays for the next round. An item has `lanes` threads, a power of two, whose first one is heard.
// Ends with a grid barrier.
template <typename Examine>
DEVICE void process_worklist(const Worklist& work, u64 count, u32* barrier, u32& generation, Examine examine,
                             u32 lanes = 1) {
    const int lane_bits = 31 - __clz((int)lanes);
    const bool is_first_lane = (threadIdx.x & (lanes - 1)) == 0;
    for (u32 round = 0; count; ++round) {
        const u64 wanted = count << lane_bits;
        const bool alone = wanted <= SINGLE_BLOCK;
        if (alone && blockIdx.x) break;
        const u64 blocks = alone ? 1 : gridDim.x, threads = blocks * blockDim.x;
        const u32* const list = work.items + round % 2 * work.capacity;
        u32* const next = work.items + (round + 1) % 2 * work.capacity;
        u64* const length = work.lengths + (round + 1) % 3;
        // All blocks read this length before the last barrier.
        if (blockIdx.x == 0 && threadIdx.x == 0) work.lengths[(round + 2) % 3] = 0;
        const u32 turns = (u32)min((u64)AT_ONCE, (wanted + threads - 1) / threads), span = turns * blockDim.x;
        for (u64 base = (u64)blockIdx.x * span; base < wanted; base += blocks * span) {
            const auto item_of = [&](u32 turn) {
                const u64 place = (base + turn * blockDim.x + threadIdx.x) >> lane_bits;
                return place >= count ? NO_ITEM : round ? __ldcg(list + place) : (u32)place;
            };
            u32 kept = 0;
            u64 places[AT_ONCE];
#pragma unroll 1
            for (u32 turn = 0; turn < turns; ++turn)
                if (examine(item_of(turn)) && is_first_lane) kept |= 1u << turn;
            append_places(kept, length, places);
#pragma unroll
            for (u32 turn = 0; turn < AT_ONCE; ++turn)
                if (kept >> turn & 1) next[places[turn]] = item_of(turn);
        }
        if (alone) __syncthreads();
        else grid_barrier(barrier, generation);
        count = __ldcg(length);
    }
    grid_barrier(barrier, generation);
}

// Asynchronous processing within a cooperative launch, without rounds and barriers: every warp has a list of items of
// its own, and examines them until none stays. Items 0 to n - 1 are dealt to the warps in chunks of 32, the `others`,
// such as pieces of long rows, one by one. `examine(item)`, called by all lanes of a warp, tells whether the item stays.
// An item must not wait for another inside `examine`, which may be of the same warp.
template <typename Examine>
DEVICE void process_own_items(u32* lists, u64 n, u64 others, Examine examine) {
    const u32 lane = threadIdx.x % 32;
    const u64 warps = (u64)gridDim.x * blockDim.x / 32, warp = ((u64)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const u64 chunks = (n + 31) / 32;
    const auto dealt = [&](u64 count) { return (u32)(warp < count ? (count - 1 - warp) / warps + 1 : 0); };
    const u32 in_chunks = 32 * dealt(chunks);
    const auto first_item = [&](u32 place) {
        if (place >= in_chunks) return (u32)(n + warp + (place - in_chunks) * warps);
        const u64 item = 32 * (warp + place / 32 * warps) + place % 32;
        return item < n ? (u32)item : NO_ITEM;
    };
    u32* const list = lists + warp * (32 * ((chunks + warps - 1) / warps) + (others + warps - 1) / warps);
    u32 left = in_chunks + dealt(others);
    for (bool is_first = true; left; is_first = false) {
        u32 kept = 0;
        for (u32 base = 0; base < left; base += 32) {
            const u32 place = base + lane;
            const u32 item = place >= left ? NO_ITEM : is_first ? first_item(place) : list[place];
            const bool stays = examine(item);
            const u32 staying = __ballot_sync(FULL_WARP, stays);
            if (stays) list[kept + __popc(staying & ((1u << lane) - 1))] = item;
            kept += __popc(staying);
        }
        __syncwarp();
        left = kept;
    }
}
