// A tile of keys: one block, ROUNDS keys per thread, THREADS apart.
#define THREADS 256
#define ROUNDS 8
#define TILE (THREADS * ROUNDS)

// Packs both addresses of each packet into one word, the source above.
KERNEL pack_addresses(In<u32> sources, In<u32> destinations, i64 count, u64* __restrict__ keys) {
    GRID_STRIDE (i64, i, count) keys[i] = (u64)sources[i] << 32 | destinations[i];
}

// Whether a run of keys begins here that are equal above `shift` bits.
DEVICE bool is_head(In<u64> keys, i64 place, i64 count, i64 shift) {
    return place < count && (place == 0 || keys[place] >> shift != keys[place - 1] >> shift);
}

// The heads of a tile as bits, one word for each warp and round, and the number of heads before each word.
struct Heads {
    u32 words[TILE / 32];
    int before[TILE / 32], total;

    DEVICE void find(In<u64> keys, i64 base, i64 count, i64 shift) {
#pragma unroll
        for (int round = 0; round < ROUNDS; ++round) {
            const int place = round * THREADS + threadIdx.x;
            const u32 found = __ballot_sync(FULL_WARP, is_head(keys, base + place, count, shift));
            if (threadIdx.x % 32 == 0) words[place / 32] = found;
        }
        __syncthreads();
        const int own = threadIdx.x < TILE / 32 ? __popc(words[threadIdx.x]) : 0;
        const int sum = block_exclusive_sum(own, &total);
        if (threadIdx.x < TILE / 32) before[threadIdx.x] = sum;
        __syncthreads();
    }
    // Heads up to and including a place.
    DEVICE int up_to(int place) const { return before[place / 32] + __popc(words[place / 32] << (31 - place % 32)); }
    DEVICE bool has(int place) const { return words[place / 32] >> place % 32 & 1; }
};

// Block per tile: counts the runs that begin in it.
KERNEL __launch_bounds__(THREADS) count_runs(In<u64> keys, i64 count, i64 shift, i64* __restrict__ counts) {
    int heads = 0;
    for (int round = 0; round < ROUNDS; ++round) {
        const i64 place = (i64)blockIdx.x * TILE + round * THREADS + threadIdx.x;
        heads += __syncthreads_count(is_head(keys, place, count, shift));
    }
    if (threadIdx.x == 0) counts[blockIdx.x] = heads;
}

// Block per tile: writes where the runs begin, and the number of keys behind the last one. `ends` are the inclusive
// prefix sums of count_runs.
KERNEL __launch_bounds__(THREADS)
    place_runs(In<u64> keys, i64 count, i64 shift, In<i64> ends, i64* __restrict__ starts) {
    __shared__ Heads heads;
    const i64 base = (i64)blockIdx.x * TILE, before = blockIdx.x ? ends[blockIdx.x - 1] : 0;
    heads.find(keys, base, count, shift);
    for (int place = threadIdx.x; place < TILE; place += THREADS)
        if (heads.has(place)) starts[before + heads.up_to(place) - 1] = base + place;
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) starts[ends[blockIdx.x]] = count;
}

// Block per tile: writes the number of each key's run at the place in the key's low 32 bits.
KERNEL __launch_bounds__(THREADS)
    number_runs(In<u64> keys, i64 count, i64 shift, In<i64> ends, INDEX* __restrict__ numbers) {
    __shared__ Heads heads;
    const i64 base = (i64)blockIdx.x * TILE, before = blockIdx.x ? ends[blockIdx.x - 1] : 0;
    heads.find(keys, base, count, shift);
    for (int place = threadIdx.x; place < TILE && base + place < count; place += THREADS)
        numbers[(u32)keys[base + place]] = (INDEX)(before + heads.up_to(place) - 1);
}

// The key of each run, and its packets: the difference of their inclusive prefix sums `sums`, or the length of the run
// where `sums` is null.
KERNEL take_runs(In<u64> keys, In<i64> starts, i64 runs, In<i64> sums, u64* __restrict__ links,
                 i64* __restrict__ packets) {
    GRID_STRIDE (i64, run, runs) {
        const i64 begin = starts[run], end = starts[run + 1];
        links[run] = keys[begin];
        packets[run] = sums ? sums[end - 1] - (begin ? sums[begin - 1] : 0) : end - begin;
    }
}
