// The state of a tile in the look-back: a count, and whether it is the tile's own (AGGREGATE) or includes all tiles
// before it (INCLUSIVE_PREFIX); 0 while neither is known.
#define AGGREGATE (1ull << 62)
#define INCLUSIVE_PREFIX (1ull << 63)

// Decoupled look-back (Merrill & Garland, "Single-pass parallel prefix scan with decoupled look-back", 2016): the
// first warp publishes the tile's own count and sums up those before it, back to the nearest inclusive prefix. Tiles
// are taken in turn, so those before this one are done or running.
DEVICE u64 look_back(u64* states, i64 tile, u64 own) {
    const int lane = threadIdx.x;
    u64 before = 0;
    bool known = tile == 0;
    if (lane == 0) atomicExch(states + tile, own | (known ? INCLUSIVE_PREFIX : AGGREGATE));
    for (i64 last = tile - 1; !known; last -= 32) {
        u64 state = INCLUSIVE_PREFIX;  // of nothing, before the first tile
        if (last >= lane)
            while (!(state = *(volatile u64*)(states + (last - lane)))) __nanosleep(20);
        const u32 inclusive = __ballot_sync(FULL_WARP, (state & INCLUSIVE_PREFIX) != 0);
        known = inclusive != 0;
        const int nearest = known ? __ffs(inclusive) - 1 : 31;
        before += warp_sum(lane <= nearest ? state & (AGGREGATE - 1) : 0);
    }
    if (lane == 0 && tile > 0) atomicExch(states + tile, (before + own) | INCLUSIVE_PREFIX);
    return before;
}
