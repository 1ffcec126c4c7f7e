// Vertices that wait for others before them in a fixed order: in every round all that still wait look on through their
// neighbours, until one stands in the way. What has been passed is not looked at again.

// The place of a vertex in the order, in one word: five bits for a class, a hash of 27, the index.
__device__ __forceinline__ u64 order_word(u32 rank, u32 vertex, u32 tie_key) {
    const u32 hash = mix32(tie_key + vertex * 0x9E3779B1u) >> 5;
    return (u64)(rank << 27 | hash) << 32 | vertex;
}

// What a neighbour means to a vertex; UNDONE: there are more to look at.
enum Sight { PASSED, BLOCKED, REFUSED, UNDONE };

// Entries that a thread looks at before its warp helps, and those at once.
#define ALONE 16
#define SIDE_BY_SIDE 4

// A Problem has the columns of all rows, `fetch(neighbour)`, which reads what is known of a neighbour, and
// `sight(own word, neighbour, what is known)`.
template <typename Problem>
__device__ __forceinline__ Sight look_alone(const Problem& problem, const Part& part, u64 own, int& offset) {
    const int stop = min(part.length, offset + ALONE);
    while (offset < stop) {
        int neighbours[SIDE_BY_SIDE];
        typename Problem::Known known[SIDE_BY_SIDE];
#pragma unroll
        for (int i = 0; i < SIDE_BY_SIDE; ++i)
            neighbours[i] = __ldg(problem.indices + part.begin + min(offset + i, stop - 1));
#pragma unroll
        for (int i = 0; i < SIDE_BY_SIDE; ++i) known[i] = problem.fetch(neighbours[i]);
#pragma unroll
        for (int i = 0; i < SIDE_BY_SIDE; ++i) {
            const Sight sight = problem.sight(own, neighbours[i], known[i]);
            if (sight == PASSED) continue;
            offset = min(offset + i, stop - 1);
            return sight;
        }
        offset = min(offset + SIDE_BY_SIDE, stop);
    }
    return offset < part.length ? UNDONE : PASSED;
}

// The same by a warp, for one part.
template <typename Problem>
__device__ __forceinline__ Sight look_together(const Problem& problem, const Part& part, u64 own, int& offset) {
    for (; offset < part.length; offset += 32) {
        const int place = offset + threadIdx.x % 32;
        Sight sight = PASSED;
        if (place < part.length) {
            const int neighbour = __ldg(problem.indices + part.begin + place);
            sight = problem.sight(own, neighbour, problem.fetch(neighbour));
        }
        const u32 stopped = __ballot_sync(FULL_WARP, sight != PASSED);
        if (!stopped) continue;
        offset += __ffs(stopped) - 1;
        return (Sight)__shfl_sync(FULL_WARP, (int)sight, __ffs(stopped) - 1);
    }
    offset = part.length;
    return PASSED;
}

// A warp looks through the parts of its lanes from their offsets on. All lanes must come.
template <typename Problem>
__device__ __forceinline__ Sight look_through(const Problem& problem, const Part& part, u64 own, bool wanted,
                                              int& offset) {
    Sight sight = wanted ? look_alone(problem, part, own, offset) : PASSED;
    for (u32 left = __ballot_sync(FULL_WARP, sight == UNDONE); left; left &= left - 1) {
        const int lane = __ffs(left) - 1;
        int reached = __shfl_sync(FULL_WARP, offset, lane);
        const Sight found = look_together(problem, from_lane(part, lane), __shfl_sync(FULL_WARP, own, lane), reached);
        if ((int)(threadIdx.x % 32) != lane) continue;
        sight = found;
        offset = reached;
    }
    return sight;
}

// Two lists of items that take turns, each with so much room, and the lengths of three, zero at first.
struct Worklist {
    u32* items;
    u64* lengths;
    u64 room;
};

// So few items are left to the first block: the others need not meet any more.
#define FEW 512

// Works off `count` items in rounds: `examine(item)`, by all lanes of a warp, says whether the item stays. A cooperative
// launch; blocks meet at the end.
template <typename Examine>
__device__ __forceinline__ void work_off(const Worklist& work, u64 count, u32* barrier, u32& generation,
                                         Examine examine) {
    for (u32 round = 0; count; ++round) {
        const bool alone = count <= FEW;
        if (alone && blockIdx.x) break;
        const u64 blocks = alone ? 1 : gridDim.x, threads = blocks * blockDim.x;
        const u32* const list = work.items + round % 2 * work.room;
        u32* const next = work.items + (round + 1) % 2 * work.room;
        u64* const length = work.lengths + (round + 1) % 3;
        // Read by all before they met last.
        if (blockIdx.x == 0 && threadIdx.x == 0) work.lengths[(round + 2) % 3] = 0;
        const u32 turns = (u32)min((u64)AT_ONCE, (count + threads - 1) / threads), span = turns * blockDim.x;
        for (u64 base = (u64)blockIdx.x * span; base < count; base += blocks * span) {
            const auto item_of = [&](u32 turn) {
                const u64 place = base + turn * blockDim.x + threadIdx.x;
                return place >= count ? NO_ITEM : round ? __ldcg(list + place) : (u32)place;
            };
            u32 kept = 0;
            u64 places[AT_ONCE];
#pragma unroll 1
            for (u32 turn = 0; turn < turns; ++turn)
                if (examine(item_of(turn))) kept |= 1u << turn;
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
