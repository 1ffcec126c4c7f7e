#include "ilu/tickets.cuh"

// The level of a vertex while it is not known.
#define PENDING -1

// A level that may still be pending; also returns where some level was too high, with any value.
DEVICE int awaited_level(const int* levels, int vertex, const u32* too_high) {
    int level;
    while ((level = *(const volatile int*)(levels + vertex)) == PENDING && !*(const volatile u32*)too_high)
        __nanosleep(PAUSE);
    return level;
}

// A warp per vertex, in the order of elimination: its level is one more than the highest of its neighbours before it.
// `words` are the counter of tickets, and whether some level has reached `most`.
KERNEL find_levels(In<INDEX> indptr, In<int> indices, In<int> order, In<int> rank, i64 n, i64 most, int* levels,
                   u32* words) {
    const int lane = threadIdx.x % 32;
    for (;;) {
        const i64 place = next_ticket(words);
        if (place >= n) return;
        const int vertex = order[place];
        const i64 end = indptr[vertex + 1];
        int level = 0;
        for (i64 slot = (i64)indptr[vertex] + lane; slot < end; slot += 32)
            if (rank[indices[slot]] < place) level = max(level, awaited_level(levels, indices[slot], words + 1) + 1);
        level = warp_max(level);
        if (lane == 0) {
            if (level >= most) *(volatile u32*)(words + 1) = 1;
            *(volatile int*)(levels + vertex) = level;
        }
    }
}
