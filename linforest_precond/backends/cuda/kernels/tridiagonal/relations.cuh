// Relations of a group.
#define RELATIONS 4

// The factors that have scaled the equations of a relation.
struct Scales {
    WEIGHT first, second;
};

// Two equations between the unknowns at both ends of a span of rows: (x before the span, its first x, its last x, x
// after the span).
struct Relation {
    Equation<4> first, second;

    // Scales both equations to sizes between one half and one. Not for singular systems, where an equation may consist of
    // rounding errors only.
    DEVICE Scales normalize() {
        if (SINGULAR) return {1, 1};
        const WEIGHT by_first = first.normalize();
        return {by_first, second.normalize()};
    }
};

// An array of relations as a structure of arrays, for coalesced accesses: `count` numbers for each entry.
struct Relations {
    VALUE* entries;
    i64 count;

    DEVICE Relation load(i64 r) const {
        Relation relation;
        EACH (i, 4) relation.first.at[i] = entries[i * count + r];
        EACH (i, 4) relation.second.at[i] = entries[(4 + i) * count + r];
        relation.first.right = entries[8 * count + r];
        relation.second.right = entries[9 * count + r];
        return relation;
    }
    DEVICE void store(i64 r, const Relation& relation) const {
        EACH (i, 4) entries[i * count + r] = relation.first.at[i];
        EACH (i, 4) entries[(4 + i) * count + r] = relation.second.at[i];
        entries[8 * count + r] = relation.first.right;
        entries[9 * count + r] = relation.second.right;
    }
    // The next level: a relation per group of RELATIONS, stored after this level.
    DEVICE Relations folded() const { return {entries + 10 * count, (count + RELATIONS - 1) / RELATIONS}; }
};

// The two unknowns at the boundary of two spans: the last x of one, the first x of the next.
struct Pair {
    VALUE last, first;
};

DEVICE void mark(u8* marks, i64 row, bool vanished) {
    if (marks && vanished) marks[row] = 1;
}
