// Solves by reflections that the elimination has kept: they are applied to the right-hand side alone. A row costs ten
// numbers of memory traffic and a few multiplications; the elimination itself is bound by its instructions.

// Numbers of each item of a group, WORDS for each of ITEMS, for groups of consecutive threads side by side.
template <int ITEMS, int WORDS>
struct Kept {
    VALUE* numbers;

    DEVICE static i64 size(i64 groups) { return (groups + THREADS - 1) / THREADS * (ITEMS * WORDS * THREADS); }
    DEVICE Kept(VALUE* numbers, i64 group)
        : numbers(numbers + group / THREADS * (ITEMS * WORDS * THREADS) + group % THREADS) {}
    DEVICE VALUE& at(int item, int word) const { return numbers[(item * WORDS + word) * THREADS]; }
    template <int EQUATIONS>
    DEVICE Reflection<EQUATIONS> reflection(int item, int word) const {
        Reflection<EQUATIONS> found;
        EACH (e, EQUATIONS - 1) found.at[e] = at(item, word + e);
        return found;
    }
    template <int EQUATIONS>
    DEVICE void keep(int item, int word, const Reflection<EQUATIONS>& reflection) const {
        EACH (e, EQUATIONS - 1) at(item, word + e) = reflection.at[e];
    }
    DEVICE void keep(int item, int word, const Scales& scales) const {
        at(item, word) = from_real(scales.first), at(item, word + 1) = from_real(scales.second);
    }
    // The pivot equation of unknown U, divided by its pivot: the pivot's reciprocal, and the entries after U.
    template <int U, int UNKNOWNS>
    DEVICE void keep_pivot(int item, int word, const Equation<UNKNOWNS>& equation) const {
        const VALUE reciprocal = inverse(equation.at[U]);
        at(item, word) = reciprocal;
#pragma unroll
        for (int i = U + 1; i < UNKNOWNS; ++i) at(item, word + i - U) = equation.at[i] * reciprocal;
    }
};

// For each row of a group but the first: the reflection, and the pivot equation of the row before it. For the first one:
// its entries to the x before the group and to its own x, and the scales of the relation's equations.
typedef Kept<GROUP, 5> KeptRows;
#define ROW_PIVOT 2
#define ROW_SCALES 2

// For each relation of a group but the first: two reflections, the pivot equations of the last x of the relation before
// it and of its first x, and the scales of the equations that are left. For the first one: the entries of both equations
// to the pair before the group. The only relation of the coarsest level keeps a reflection and two pivot equations.
typedef Kept<RELATIONS, 14> KeptRelations;
#define SECOND_REFLECTION 3
#define LAST_PIVOT 5
#define FIRST_PIVOT 9
#define SCALES 12

// The right-hand sides of the two equations of a relation.
struct __align__(sizeof(VALUE) < 8 ? 8 : 16) Rights {
    VALUE first, second;
};

// Items after the end of a short group: nothing is reflected, and unknowns are copied from those after them.
DEVICE void keep_nothing(const KeptRows& kept, int item) {
    EACH (word, 5) kept.at(item, word) = VALUE{};
    kept.at(item, ROW_PIVOT + 1) = from_real(-1);
}
DEVICE void keep_nothing(const KeptRelations& kept, int item) {
    EACH (word, 14) kept.at(item, word) = VALUE{};
    kept.at(item, LAST_PIVOT + 2) = kept.at(item, FIRST_PIVOT + 2) = from_real(-1);
    kept.at(item, SCALES) = kept.at(item, SCALES + 1) = from_real(1);
}

// The right-hand sides of the relation of a group of rows.
DEVICE Rights folded_right(const KeptRows& kept, const VALUE* own) {
    VALUE sides[3] = {own[0], VALUE{}};
#pragma unroll 5
    for (int j = 1; j < GROUP; ++j) {
        sides[2] = own[j];
        kept.reflection<3>(j, 0).apply(sides);
    }
    return {sides[0] * kept.at(0, ROW_SCALES), sides[1] * kept.at(0, ROW_SCALES + 1)};
}

// Replaces the right-hand sides of a group of rows by its solution, from the pairs at its ends.
DEVICE void solve_right(const KeptRows& kept, const Pair& before, const Pair& after, VALUE* own) {
    VALUE sides[3] = {(own[0] - kept.at(0, 0) * before.last) - kept.at(0, 1) * before.first,
                      scaled(before.first, (WEIGHT)-0.5)};
#pragma unroll 5
    for (int j = 1; j < GROUP; ++j) {
        sides[2] = own[j];
        kept.reflection<3>(j, 0).apply(sides);
        own[j - 1] = sides[2] * kept.at(j, ROW_PIVOT);
    }
    VALUE x = after.last, next = after.first;
#pragma unroll 5
    for (int j = GROUP - 1; j > 0; --j) {
        const VALUE last = x;
        x = (own[j - 1] - kept.at(j, ROW_PIVOT + 1) * x) - kept.at(j, ROW_PIVOT + 2) * next;
        own[j] = next = last;
    }
    own[0] = before.first;
}

// The right-hand sides of the equations that are left of a group of relations, and, of its pivot equations, those of the
// last x before each relation and of its first x.
DEVICE Rights reflect_group(const KeptRelations& kept, Rights sides, const Rights* rights, i64 first, i64 count,
                            Pair (&pivots)[RELATIONS]) {
    VALUE four[4] = {sides.first, sides.second};
#pragma unroll
    for (int r = 1; r < RELATIONS; ++r) {
        const Rights next = first + r < count ? rights[first + r] : Rights{};
        four[2] = next.first, four[3] = next.second;
        kept.reflection<4>(r, 0).apply(four);
        VALUE three[3] = {four[0], four[1], four[2]};
        kept.reflection<3>(r, SECOND_REFLECTION).apply(three);
        pivots[r] = {four[3] * kept.at(r, LAST_PIVOT), three[2] * kept.at(r, FIRST_PIVOT)};
        four[0] = three[0] * kept.at(r, SCALES), four[1] = three[1] * kept.at(r, SCALES + 1);
    }
    return {four[0], four[1]};
}

// A level of relations, `count` of them, as solves see it; the next level is stored after it.
struct KeptLevel {
    VALUE* kept;
    Rights* rights;
    Pair* pairs;
    i64 count;

    DEVICE i64 groups() const { return (count + RELATIONS - 1) / RELATIONS; }
    DEVICE KeptLevel folded() const {
        return {kept + KeptRelations::size(groups()), rights + count, pairs + count + 1, groups()};
    }
    DEVICE void fold(i64 group) const {
        const i64 first = group * RELATIONS;
        Pair unused[RELATIONS];
        rights[count + group] = reflect_group({kept, group}, rights[first], rights, first, count, unused);
    }
    DEVICE void unfold(i64 group) const {
        const i64 first = group * RELATIONS, last = min(first + RELATIONS, count);
        const KeptRelations own(kept, group);
        const Pair* const coarse = pairs + count + 1;
        const Pair before = coarse[group], after = coarse[group + 1];
        Rights sides = rights[first];
        sides.first = (sides.first - own.at(0, 0) * before.last) - own.at(0, 1) * before.first;
        sides.second = (sides.second - own.at(0, 2) * before.last) - own.at(0, 3) * before.first;
        Pair solved[RELATIONS];
        reflect_group(own, sides, rights, first, count, solved);
        Pair pair = after;
#pragma unroll
        for (int r = RELATIONS - 1; r > 0; --r) {
            solved[r].first =
                (solved[r].first - own.at(r, FIRST_PIVOT + 1) * pair.last) - own.at(r, FIRST_PIVOT + 2) * pair.first;
            solved[r].last = ((solved[r].last - own.at(r, LAST_PIVOT + 1) * solved[r].first) -
                              own.at(r, LAST_PIVOT + 2) * pair.last) -
                             own.at(r, LAST_PIVOT + 3) * pair.first;
            pair = solved[r];
        }
        solved[0] = before;
        EACH (r, RELATIONS)
            if (first + r < last) pairs[first + r] = solved[r];
        if (last == count) pairs[last] = after;
    }
    // The first and the last x from the only relation; the unknowns outside are 0.
    DEVICE void solve() const {
        VALUE both[2] = {rights[0].first, rights[0].second};
        const Reflection<2> reflection = {kept[0]};
        reflection.apply(both);
        const VALUE last = both[0] * kept[1];
        pairs[0] = {VALUE{}, both[1] * kept[2] - kept[3] * last};
        pairs[1] = {last, VALUE{}};
    }
};
