// Members of an aggregate are summed in runs of this length, then the sums of the runs: the order that the CPU has.
#define RUN 32

// The sum over the members from `begin` on, a run at most, in one column.
DEVICE VALUE sum_run(In<INDEX> members, i64 begin, i64 end, In<VALUE> fine, i64 columns, i64 column) {
    VALUE sum = VALUE{};
    end = min(end, begin + RUN);
    for (i64 i = begin; i < end; ++i) sum = plus(sum, fine[members[i] * columns + column]);
    return sum;
}

// The same over any number of members by a warp: a lane sums a run at a time.
DEVICE VALUE sum_runs(In<INDEX> members, i64 begin, i64 end, In<VALUE> fine, i64 columns, i64 column) {
    VALUE sum = VALUE{};
    for (; begin < end; begin += 32 * RUN) {
        const VALUE own = sum_run(members, begin + threadIdx.x % 32 * RUN, end, fine, columns, column);
        for (int lane = 0; lane < 32; ++lane) {
            const VALUE other = from_lane(own, lane);
            if (begin + lane * RUN < end) sum = plus(sum, other);
        }
    }
    return sum;
}

// coarse = P^T fine: a thread per sum, a warp where an aggregate has many members.
KERNEL sum_members(In<INDEX> indptr, In<INDEX> members, In<VALUE> fine, i64 rows, i64 columns,
                   VALUE* __restrict__ coarse) {
    const int lane = threadIdx.x % 32;
    const i64 count = rows * columns;
    WARP_STRIDE (i64, base, count) {
        const i64 at = base + lane, row = columns == 1 ? at : at / columns, column = at - row * columns;
        const i64 begin = at < count ? (i64)indptr[row] : 0, end = at < count ? (i64)indptr[row + 1] : 0;
        const bool many = end - begin > RUN;
        if (at < count && !many) coarse[at] = sum_run(members, begin, end, fine, columns, column);
        for (u32 left = __ballot_sync(FULL_WARP, many); left; left &= left - 1) {
            const int owner = __ffs(left) - 1;
            const VALUE sum =
                sum_runs(members, __shfl_sync(FULL_WARP, begin, owner), __shfl_sync(FULL_WARP, end, owner), fine,
                         columns, __shfl_sync(FULL_WARP, column, owner));
            if (lane == owner) coarse[at] = sum;
        }
    }
}

// fine += P coarse.
KERNEL add_values(In<INDEX> aggregates, In<VALUE> coarse, i64 rows, i64 columns, VALUE* __restrict__ fine) {
    const i64 count = rows * columns;
    GRID_STRIDE (i64, at, count) {
        const i64 row = columns == 1 ? at : at / columns;
        fine[at] = plus(fine[at], coarse[aggregates[row] * columns + (at - row * columns)]);
    }
}
