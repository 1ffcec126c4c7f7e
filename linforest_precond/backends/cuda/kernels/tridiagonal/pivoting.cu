#include "runtime/arithmetic.cuh"
#include "tridiagonal/strided_vectors.cuh"
#include "tridiagonal/orthogonal_elimination.cuh"

// Solves a tridiagonal system by orthogonal elimination (Householder reflections), backward stable for every nonsingular
// matrix: a structured orthogonal factorization as in Wright, "Stable Parallel Algorithms for Two-Point Boundary Value
// Problems", SIAM J. Sci. Stat. Comput. 13, 1992. The rows of a group are folded into a relation: two equations between
// (the x before the group, its first x) and (its last x, the x after the group). Groups of relations are folded in turn
// until one relation is left, which gives the first and the last x; the others follow by back substitution. Solves of a
// system that is not singular apply the reflections of an elimination that has kept them; others, and those of the
// transpose, repeat it. (Row exchanges instead of reflections could
// leave a relation with two almost parallel equations.)
#define GROUP 16
#define THREADS 128
#define TILE (GROUP * THREADS)
// Makes the exponents of rows, which are 16-bit numbers, positive.
#define EXPONENT_BIAS 32768
// Threads of the block that folds the coarsest levels.
#define TOP_THREADS 512

#include "tridiagonal/relations.cuh"
#include "tridiagonal/kept_reflections.cuh"

// An equilibrated system: rows and columns were scaled by powers of two to norms between one half and one.
struct EquilibratedRows {
    const VALUE *lower, *diagonal, *upper;
    const short *row_exponents, *column_exponents;
    i64 count;
    i64 transposed;

    DEVICE int right_exponent(i64 i) const { return (transposed ? column_exponents : row_exponents)[i]; }
    DEVICE int solution_exponent(i64 i) const { return (transposed ? row_exponents : column_exponents)[i]; }

    DEVICE VALUE to_before(i64 i) const { return !transposed ? lower[i] : i ? upper[i - 1] : VALUE{}; }
    DEVICE VALUE to_after(i64 i) const { return !transposed ? upper[i] : i + 1 < count ? lower[i + 1] : VALUE{}; }
};

// A tile of rows in shared memory, padded by one entry after each group, so that threads that traverse their groups in
// lockstep have no bank conflicts.
#define PADDED(i) ((i) + (i) / GROUP)

struct PivotTile {
    VALUE *lower, *diagonal;
    VALUE *upper, *right;

    DEVICE Equation<3> row(int at) const { return {{lower[at], diagonal[at], upper[at]}, right[at]}; }
};

extern __shared__ __align__(16) char shared_memory[];

DEVICE PivotTile tile_memory() {
    VALUE* const memory = (VALUE*)shared_memory;
    constexpr int size = PADDED(TILE);
    return {memory, memory + size, memory + 2 * size, memory + 3 * size};
}

// A row of one column of the right-hand side, scaled as the system's.
DEVICE VALUE right_of(const EquilibratedRows& rows, const Vectors& vectors, i64 column, i64 row) {
    const i64 at = place_of(vectors, row) * vectors.source_row + column * vectors.source_column;
    return shifted_down(value_at(vectors, at), rows.right_exponent(row));
}

// Writes a tile of the solution.
DEVICE void store_tile(const VALUE* tile, const EquilibratedRows& rows, const Vectors& vectors, i64 column) {
    const i64 first = (i64)blockIdx.x * TILE;
#pragma unroll 4
    for (int i = threadIdx.x; i < TILE; i += THREADS) {
        const i64 row = first + i;
        if (row >= rows.count) continue;
        const VALUE x = shifted_down(tile[PADDED(i)], rows.solution_exponent(row));
        put(vectors, place_of(vectors, row) * vectors.target_row + column * vectors.target_column, x);
    }
}

// Loads a tile and one column of the right-hand side (0 if there is none) into shared memory.
DEVICE PivotTile load_tile(const EquilibratedRows& rows, const Vectors& vectors, i64 column) {
    const PivotTile tile = tile_memory();
    const i64 first = (i64)blockIdx.x * TILE;
    const VALUE zero = VALUE{};
#pragma unroll 4
    for (int i = threadIdx.x; i < TILE; i += THREADS) {
        const i64 row = first + i;
        const int at = PADDED(i);
        const bool inside = row < rows.count;
        tile.lower[at] = inside ? rows.to_before(row) : zero;
        tile.diagonal[at] = inside ? rows.diagonal[row] : zero;
        tile.upper[at] = inside ? rows.to_after(row) : zero;
        tile.right[at] = inside && vectors.source ? right_of(rows, vectors, column, row) : zero;
    }
    __syncthreads();
    return tile;
}

// Loads a tile of one column of the right-hand side alone. Returns the part of the thread's group.
DEVICE VALUE* load_right(const EquilibratedRows& rows, const Vectors& vectors, i64 column) {
    VALUE* const tile = (VALUE*)shared_memory;
    const i64 first = (i64)blockIdx.x * TILE;
#pragma unroll 8
    for (int i = threadIdx.x; i < TILE; i += THREADS)
        tile[PADDED(i)] = first + i < rows.count ? right_of(rows, vectors, column, first + i) : VALUE{};
    __syncthreads();
    return tile + threadIdx.x * (GROUP + 1);
}

// Folds each group of rows into a relation, one thread per group; marks the rows whose unknown vanished. Reflections are
// kept where there is room for them.
KERNEL __launch_bounds__(THREADS)
    fold_rows(EquilibratedRows rows, Vectors vectors, i64 column, VALUE* entries, u8* marks, VALUE* kept_rows) {
    const PivotTile tile = load_tile(rows, vectors, column);
    const i64 group = (i64)blockIdx.x * THREADS + threadIdx.x, first = group * GROUP;
    if (first >= rows.count) return;
    const int length = (int)min((i64)GROUP, rows.count - first), base = threadIdx.x * (GROUP + 1);
    const VALUE zero = VALUE{}, half = from_real((WEIGHT)0.5);
    const KeptRows kept(kept_rows, group);
    const Equation<3> row = tile.row(base);
    Relation relation = {{{row.at[0], row.at[1], zero, row.at[2]}, row.right}, {{zero, half, -half, zero}, zero}};
    for (int j = 1; j < length; ++j) {
        const Equation<4>&a = relation.first, &b = relation.second;
        const Equation<3> next = tile.row(base + j);
        Equation<5> equations[3] = {{{a.at[0], a.at[1], a.at[2], a.at[3], zero}, a.right},
                                    {{b.at[0], b.at[1], b.at[2], b.at[3], zero}, b.right},
                                    {{zero, zero, next.at[0], next.at[1], next.at[2]}, next.right}};
        Reflection<3> reflection;
        mark(marks, first + j - 1, eliminate<2>(equations, reflection));
        if (kept_rows) {
            kept.keep(j, 0, reflection);
            kept.keep_pivot<2>(j, ROW_PIVOT, equations[2]);
        }
        const Equation<5>&c = equations[0], &d = equations[1];
        relation = {{{c.at[0], c.at[1], c.at[3], c.at[4]}, c.right}, {{d.at[0], d.at[1], d.at[3], d.at[4]}, d.right}};
    }
    const Scales scales = relation.normalize();
    if (kept_rows) {
        EACH (i, 2) kept.at(0, i) = row.at[i];
        kept.keep(0, ROW_SCALES, scales);
        for (int j = length; j < GROUP; ++j) keep_nothing(kept, j);
    }
    const Relations relations = {entries, (rows.count + GROUP - 1) / GROUP};
    relations.store(group, relation);
}

// Folds one group of relations, each of which spans `span` of the `count` rows.
DEVICE void fold_group(const Relations& relations, i64 group, const Relations& folded, i64 span, i64 count, u8* marks,
                       VALUE* kept_relations) {
    const i64 first = group * RELATIONS, last = min(first + RELATIONS, relations.count);
    const VALUE zero = VALUE{};
    const KeptRelations kept(kept_relations, group);
    Relation relation = relations.load(first);
    if (kept_relations) {
        EACH (i, 2) kept.at(0, i) = relation.first.at[i], kept.at(0, 2 + i) = relation.second.at[i];
        for (int r = (int)(last - first); r < RELATIONS; ++r) keep_nothing(kept, r);
    }
    for (i64 r = first + 1; r < last; ++r) {
        const Relation next = relations.load(r);
        const Equation<4>&a = relation.first, &b = relation.second, &c = next.first, &d = next.second;
        Equation<6> four[4] = {{{a.at[0], a.at[1], a.at[2], a.at[3], zero, zero}, a.right},
                               {{b.at[0], b.at[1], b.at[2], b.at[3], zero, zero}, b.right},
                               {{zero, zero, c.at[0], c.at[1], c.at[2], c.at[3]}, c.right},
                               {{zero, zero, d.at[0], d.at[1], d.at[2], d.at[3]}, d.right}};
        const i64 row = min(r * span, count) - 1;
        Reflection<4> for_last;
        Reflection<3> for_first;
        mark(marks, row, eliminate<2>(four, for_last));
        Equation<6> three[3] = {four[0], four[1], four[2]};
        mark(marks, row + 1, eliminate<3>(three, for_first));
        const Equation<6>&e = three[0], &f = three[1];
        relation = {{{e.at[0], e.at[1], e.at[4], e.at[5]}, e.right}, {{f.at[0], f.at[1], f.at[4], f.at[5]}, f.right}};
        const Scales scales = relation.normalize();
        if (!kept_relations) continue;
        const int item = (int)(r - first);
        kept.keep(item, 0, for_last);
        kept.keep(item, SECOND_REFLECTION, for_first);
        kept.keep_pivot<2>(item, LAST_PIVOT, four[3]);
        kept.keep_pivot<3>(item, FIRST_PIVOT, three[2]);
        kept.keep(item, SCALES, scales);
    }
    folded.store(group, relation);
}

KERNEL __launch_bounds__(THREADS)
    fold_relations(VALUE* entries, i64 relation_count, i64 span, i64 count, u8* marks, VALUE* kept) {
    const Relations relations = {entries, relation_count}, folded = relations.folded();
    const i64 group = (i64)blockIdx.x * THREADS + threadIdx.x;
    if (group < folded.count) fold_group(relations, group, folded, span, count, marks, kept);
}

// The pairs inside one group of relations, from the pairs at its ends: the elimination is repeated, keeping the two pivot
// equations of each step for the back substitution.
DEVICE void unfold_group(const Relations& relations, i64 group, In<Pair> coarse, Pair* __restrict__ pairs) {
    const i64 first = group * RELATIONS, last = min(first + RELATIONS, relations.count);
    const Pair before = coarse[group], after = coarse[group + 1];
    Equation<4> kept[RELATIONS - 1][2];
    Relation relation = relations.load(first);
    EACH (e, 2) {
        Equation<4>& equation = e ? relation.second : relation.first;
        equation.right = (equation.right - equation.at[0] * before.last) - equation.at[1] * before.first;
    }
    const VALUE zero = VALUE{};
    Equation<4> a = {{relation.first.at[2], relation.first.at[3], zero, zero}, relation.first.right};
    Equation<4> b = {{relation.second.at[2], relation.second.at[3], zero, zero}, relation.second.right};
    for (i64 r = first + 1; r < last; ++r) {
        const Relation next = relations.load(r);
        Equation<4> four[4] = {a, b, next.first, next.second};
        eliminate<0>(four);
        Equation<4> three[3] = {four[0], four[1], four[2]};
        eliminate<1>(three);
        kept[r - first - 1][0] = four[3];
        kept[r - first - 1][1] = three[2];
        a = {{three[0].at[2], three[0].at[3], zero, zero}, three[0].right};
        b = {{three[1].at[2], three[1].at[3], zero, zero}, three[1].right};
    }
    Pair pair = after;
    if (last == relations.count) pairs[last] = after;
    for (i64 r = last - 1; r > first; --r) {
        const Equation<4>&for_last = kept[r - first - 1][0], &for_first = kept[r - first - 1][1];
        Pair solved;
        solved.first =
            ((for_first.right - for_first.at[2] * pair.last) - for_first.at[3] * pair.first) * inverse(for_first.at[1]);
        solved.last = (((for_last.right - for_last.at[1] * solved.first) - for_last.at[2] * pair.last) -
                       for_last.at[3] * pair.first) *
                      inverse(for_last.at[0]);
        pairs[r] = pair = solved;
    }
    pairs[first] = before;
}

KERNEL __launch_bounds__(THREADS)
    unfold_relations(VALUE* entries, i64 relation_count, const Pair* coarse, Pair* pairs) {
    const Relations relations = {entries, relation_count};
    const i64 group = (i64)blockIdx.x * THREADS + threadIdx.x;
    if (group < relations.folded().count) unfold_group(relations, group, coarse, pairs);
}

// The first and the last x from the relation that spans all rows; the unknowns outside are 0.
DEVICE void solve_last(const Relations& relations, Pair* pairs, i64 count, u8* marks, VALUE* kept) {
    const Relation relation = relations.load(0);
    Equation<2> both[2] = {{{relation.first.at[1], relation.first.at[2]}, relation.first.right},
                           {{relation.second.at[1], relation.second.at[2]}, relation.second.right}};
    Reflection<2> reflection;
    mark(marks, 0, eliminate<0>(both, reflection));
    VALUE entry = both[0].at[1];
    const bool vanished = size_of(entry) < LEAST_ENTRY;
    mark(marks, count - 1, vanished);
    if (vanished) entry = lifted(entry, PERTURBED_SIZE);
    const VALUE for_last = inverse(entry), for_first = inverse(both[1].at[0]);
    if (kept) kept[0] = reflection.at[0], kept[1] = for_last, kept[2] = for_first, kept[3] = both[1].at[1] * for_first;
    const VALUE last = both[0].right * for_last;
    const VALUE first = (both[1].right - both[1].at[1] * last) * for_first;
    pairs[0] = {VALUE{}, first};
    pairs[1] = {last, VALUE{}};
}

// The coarsest levels, folded and unfolded by one thread block. The pairs of each level are stored after those of the
// finer one.
KERNEL __launch_bounds__(TOP_THREADS)
    solve_top(VALUE* entries, i64 relation_count, i64 span, i64 count, Pair* pairs, u8* marks, VALUE* kept) {
    Relations levels[16];
    Pair* level_pairs[16];
    int level = 0;
    levels[0] = {entries, relation_count};
    level_pairs[0] = pairs;
    for (; levels[level].count > 1; ++level, span *= RELATIONS) {
        const Relations folded = levels[level].folded();
        for (i64 group = threadIdx.x; group < folded.count; group += TOP_THREADS)
            fold_group(levels[level], group, folded, span, count, marks, kept);
        if (kept) kept += KeptRelations::size(folded.count);
        level_pairs[level + 1] = level_pairs[level] + levels[level].count + 1;
        levels[level + 1] = folded;
        __syncthreads();
    }
    if (threadIdx.x == 0) solve_last(levels[level], level_pairs[level], count, marks, kept);
    __syncthreads();
    for (; level > 0; --level) {
        for (i64 group = threadIdx.x; group < levels[level].count; group += TOP_THREADS)
            unfold_group(levels[level - 1], group, level_pairs[level], level_pairs[level - 1]);
        __syncthreads();
    }
}

// The solution inside each group, from the pairs at its ends.
KERNEL __launch_bounds__(THREADS) unfold_rows(EquilibratedRows rows, Vectors vectors, i64 column, In<Pair> pairs) {
    const PivotTile tile = load_tile(rows, vectors, column);
    const i64 group = (i64)blockIdx.x * THREADS + threadIdx.x, first = group * GROUP;
    if (first < rows.count) {
        const int length = (int)min((i64)GROUP, rows.count - first), base = threadIdx.x * (GROUP + 1);
        const Pair before = pairs[group], after = pairs[group + 1];
        const VALUE zero = VALUE{}, half = from_real((WEIGHT)0.5);
        const Equation<3> row = tile.row(base);
        Equation<3> a = {{zero, row.at[2], zero}, (row.right - row.at[0] * before.last) - row.at[1] * before.first};
        Equation<3> b = {{-half, zero, zero}, -(half * before.first)};
        for (int j = 1; j < length; ++j) {
            const int at = base + j;
            Equation<3> equations[3] = {a, b, tile.row(at)};
            eliminate<0>(equations);
            // The pivot equation overwrites a row that is no longer needed.
            tile.lower[at - 1] = inverse(equations[2].at[0]);
            tile.diagonal[at - 1] = equations[2].at[1];
            tile.upper[at - 1] = equations[2].at[2];
            tile.right[at - 1] = equations[2].right;
            a = {{equations[0].at[1], equations[0].at[2], zero}, equations[0].right};
            b = {{equations[1].at[1], equations[1].at[2], zero}, equations[1].right};
        }
        VALUE next = after.first, own = after.last;
        tile.right[base + length - 1] = own;
        for (int at = base + length - 2; at >= base; --at) {
            const VALUE x = ((tile.right[at] - tile.diagonal[at] * own) - tile.upper[at] * next) * tile.lower[at];
            next = own;
            tile.right[at] = own = x;
        }
        tile.right[base] = before.first;
    }
    __syncthreads();
    store_tile(tile.right, rows, vectors, column);
}

// The same in parts with reflections that were kept: the right-hand sides of the relations of groups of rows,
KERNEL __launch_bounds__(THREADS)
    fold_right(EquilibratedRows rows, Vectors vectors, i64 column, VALUE* kept, Rights* rights) {
    const VALUE* const own = load_right(rows, vectors, column);
    const i64 group = (i64)blockIdx.x * THREADS + threadIdx.x;
    if (group * GROUP < rows.count) rights[group] = folded_right({kept, group}, own);
}

// of the relations of the next level,
KERNEL __launch_bounds__(THREADS) fold_rights(KeptLevel level) {
    const i64 group = (i64)blockIdx.x * THREADS + threadIdx.x;
    if (group < level.groups()) level.fold(group);
}

// the pairs of the coarsest levels by one thread block,
KERNEL __launch_bounds__(TOP_THREADS) solve_rights(KeptLevel finest) {
    KeptLevel levels[16];
    int coarsest = 0;
    levels[0] = finest;
    for (; levels[coarsest].count > 1; ++coarsest) {
        levels[coarsest + 1] = levels[coarsest].folded();
        for (i64 group = threadIdx.x; group < levels[coarsest + 1].count; group += TOP_THREADS)
            levels[coarsest].fold(group);
        __syncthreads();
    }
    if (threadIdx.x == 0) levels[coarsest].solve();
    __syncthreads();
    for (int level = coarsest - 1; level >= 0; --level) {
        for (i64 group = threadIdx.x; group < levels[level + 1].count; group += TOP_THREADS)
            levels[level].unfold(group);
        __syncthreads();
    }
}

// the pairs of finer ones,
KERNEL __launch_bounds__(THREADS) unfold_rights(KeptLevel level) {
    const i64 group = (i64)blockIdx.x * THREADS + threadIdx.x;
    if (group < level.groups()) level.unfold(group);
}

// and the solution.
KERNEL __launch_bounds__(THREADS)
    unfold_right(EquilibratedRows rows, Vectors vectors, i64 column, VALUE* kept, In<Pair> pairs) {
    VALUE* const own = load_right(rows, vectors, column);
    const i64 group = (i64)blockIdx.x * THREADS + threadIdx.x;
    if (group * GROUP < rows.count) solve_right({kept, group}, pairs[group], pairs[group + 1], own);
    __syncthreads();
    store_tile((const VALUE*)shared_memory, rows, vectors, column);
}

// The binary exponents of the rows' norms.
KERNEL row_exponents(In<VALUE> lower, In<VALUE> diagonal, In<VALUE> upper, i64 count, short* __restrict__ exponents) {
    GRID_STRIDE (i64, i, count)
        exponents[i] = exponent_of(fmax(fmax(size_of(lower[i]), size_of(diagonal[i])), size_of(upper[i])));
}

// The binary exponents of the columns' norms after row scaling.
KERNEL column_exponents(In<VALUE> lower, In<VALUE> diagonal, In<VALUE> upper, i64 count, In<short> rows,
                        short* __restrict__ exponents) {
    GRID_STRIDE (i64, j, count) {
        WEIGHT size = size_of(shifted_down(diagonal[j], rows[j]));
        if (j > 0) size = fmax(size, size_of(shifted_down(upper[j - 1], rows[j - 1])));
        if (j + 1 < count) size = fmax(size, size_of(shifted_down(lower[j + 1], rows[j + 1])));
        exponents[j] = exponent_of(size);
    }
}

// Sums up an elimination of T and one of its transpose: how many unknowns vanished in each; the largest of the exponents,
// and of the negated ones, both plus EXPONENT_BIAS; and the number that were perturbed before, if any.
KERNEL sum_up(In<u8> marks, In<short> exponents, i64 count, const u32* perturbed, u64* report) {
    if (blockIdx.x == 0 && threadIdx.x == 0 && perturbed) report[4] = *perturbed;
    u64 vanished[2] = {0, 0};
    int largest[2] = {0, 0};
    GRID_STRIDE (i64, i, count) {
        vanished[0] += marks[i];
        vanished[1] += marks[count + i];
        largest[0] = max(largest[0], EXPONENT_BIAS + exponents[i]);
        largest[1] = max(largest[1], EXPONENT_BIAS - exponents[i]);
    }
    for (int k = 0; k < 2; ++k) {
        const u64 sum = warp_sum(vanished[k]);
        const int most = warp_max(largest[k]);
        if (threadIdx.x % 32) continue;
        if (sum) atomicAdd(report + k, sum);
        atomicMax(report + 2 + k, (u64)most);
    }
}

// Scales rows and columns by powers of two, without rounding errors.
KERNEL equilibrate(In<VALUE> lower, In<VALUE> diagonal, In<VALUE> upper, i64 count, In<short> rows, In<short> columns,
                   VALUE* __restrict__ new_lower, VALUE* __restrict__ new_diagonal, VALUE* __restrict__ new_upper) {
    GRID_STRIDE (i64, i, count) {
        const int row = rows[i];
        new_diagonal[i] = shifted_down(shifted_down(diagonal[i], row), columns[i]);
        new_lower[i] = i > 0 ? shifted_down(shifted_down(lower[i], row), columns[i - 1]) : VALUE{};
        new_upper[i] = i + 1 < count ? shifted_down(shifted_down(upper[i], row), columns[i + 1]) : VALUE{};
    }
}
