#include "runtime/bitonic_sort.cuh"
#include "runtime/look_back.cuh"
#include "matrix/row_merging.cuh"

// The Galerkin product of aggregates: a coarse row is the sum of its members' rows, with the columns renumbered.

// Members whose entries a block can stage at a time.
#define MEMBERS 512

// The matrix whose rows are added up, and the coarse column of each of its columns.
struct FineMatrix {
    In<INDEX> indptr, indices;
    In<VALUE> data;
    In<INDEX> coarse_columns;
};

// The members of each coarse row: where they begin, which fine rows they are, and the number of entries of all members
// before each one.
struct Groups {
    In<INDEX> begins, members, starts;
    i64 count;

    DEVICE i64 first_term(i64 row) const { return starts[begins[row]]; }
};

// Coarse rows of more than LONGEST_ROW terms, ascending, and their numbers of entries: they are in the room already.
struct LongestRows {
    In<INDEX> rows, counts;
    i64 count;
};

// The terms of all groups for `merge_all_rows`, in the order of the members.
struct GroupTerms {
    FineMatrix fine;
    Groups groups;
    LongestRows longest;

    struct Term {
        INDEX column;
        VALUE value;
    };
    static constexpr int ROW_LANES = 8;
    struct Sum {
        VALUE sum;

        DEVICE Sum(u32 key, VALUE value) : sum(value) {}
        DEVICE void add(u32 key, VALUE value) { sum = plus(sum, value); }
        DEVICE VALUE total() const { return sum; }
    };
    struct Members {
        i64 before[ROWS + 1];     // members before each row of the tile
        INDEX shifts[MEMBERS];    // from where a member's terms are staged to where they are stored
        int starts[MEMBERS + 1];  // where a member's terms are staged
    };

    DEVICE Term load(i64 slot) const { return {fine.indices[slot], fine.data[slot]}; }
    DEVICE u32 key(const Term& term, i64 row) const { return (u32)fine.coarse_columns[term.column]; }
    static DEVICE VALUE value(const Term& term) { return term.value; }
    static DEVICE u32 column_of(u32 key) { return key; }

    // The terms of one row; the member of a term is found by binary search.
    struct Row {
        const GroupTerms& terms;
        i64 begin, end;

        DEVICE Term load(i64 i) const {
            const Groups& groups = terms.groups;
            const i64 term = groups.starts[begin] + i;
            const i64 member = lower_bound(groups.starts, begin, end, (INDEX)(term + 1)) - 1;
            return terms.load(terms.fine.indptr[groups.members[member]] + (term - groups.starts[member]));
        }
    };
    DEVICE Row row(i64 row) const { return {*this, groups.begins[row], groups.begins[row + 1]}; }

    DEVICE void load_tile(MergeTile& tile, Members& members, int rows) const {
        const int t = threadIdx.x;
        if (t > rows) return;
        members.before[t] = groups.begins[tile.first_row + t];
        tile.terms[t] = groups.starts[members.before[t]];
    }
    DEVICE bool fits(const Members& members, int first, int end) const {
        return members.before[end] - members.before[first] <= MEMBERS;
    }
    DEVICE void load_members(const MergeTile& tile, Members& members, int first, int end) const {
        const i64 first_member = members.before[first], first_term = tile.terms[first];
        const int count = (int)(members.before[end] - first_member);
        for (int m = threadIdx.x; m < count; m += THREADS) {
            const int start = (int)(groups.starts[first_member + m] - first_term);
            members.starts[m] = start;
            members.shifts[m] = fine.indptr[groups.members[first_member + m]] - start;
        }
        if (threadIdx.x == 0) members.starts[count] = (int)(tile.terms[end] - first_term);
        __syncthreads();
    }

    // The terms of one row, taken in ascending order: the member is advanced.
    struct StagedRow {
        const GroupTerms& terms;
        const Members& members;
        int begin, member;

        DEVICE Term load(int i) {
            while (members.starts[member + 1] <= begin + i) ++member;
            return terms.load((i64)members.shifts[member] + (begin + i));
        }
    };
    DEVICE StagedRow staged_row(const MergeTile& tile, const Members& members, int first, int r) const {
        return {*this, members, (int)(tile.terms[r] - tile.terms[first]),
                (int)(members.before[r] - members.before[first])};
    }

    DEVICE i64 room_slot(const MergeTile& tile, const Members& members, int r, int i) const {
        return tile.terms[r] + i;
    }
    struct Reduction {
        DEVICE void insert(VALUE value) {}
    };
    DEVICE void reduce(const Reduction& reduction, i64 row, int lanes) const {}
    DEVICE int count_of_longest(i64 row) const {
        return (int)longest.counts[lower_bound(longest.rows, 0, longest.count, (INDEX)row)];
    }
};

// What decides how rows are merged: all terms, the most terms and the most members of a row; zero at first.
enum Sizes { TERMS, MOST_TERMS, MOST_MEMBERS };

// Counts the entries of each member, shifted by one place for the scan that gives `Groups::starts`, and of all.
KERNEL count_entries(In<INDEX> indptr, In<INDEX> members, i64 count, INDEX* __restrict__ lengths, u64* sizes) {
    u64 terms = 0;
    GRID_STRIDE (i64, i, count) {
        const INDEX length = indptr[members[i] + 1] - indptr[members[i]];
        lengths[i + 1] = length;
        terms += length;
    }
    terms = warp_sum(terms);
    if (threadIdx.x % 32 == 0 && terms) atomicAdd(sizes + TERMS, terms);
}

// Finds the most terms and the most members of a coarse row.
KERNEL measure_groups(Groups groups, u64* sizes) {
    u64 terms = 0, members = 0;
    GRID_STRIDE (i64, row, groups.count) {
        const INDEX begin = groups.begins[row], end = groups.begins[row + 1];
        members = max(members, (u64)(end - begin));
        terms = max(terms, (u64)(groups.starts[end] - groups.starts[begin]));
    }
    terms = warp_max(terms);
    members = warp_max(members);
    if (threadIdx.x % 32) return;
    atomicMax(sizes + MOST_TERMS, terms);
    atomicMax(sizes + MOST_MEMBERS, members);
}

// Adds up the rows of each group's members.
KERNEL __launch_bounds__(THREADS, 5)
    merge_groups(FineMatrix fine, Groups groups, LongestRows longest, MergedRows merged, MergeRoom room,
                 int rows_at_once, u64* states, u64* totals) {
    merge_all_rows(GroupTerms{fine, groups, longest}, groups.count, merged, room, rows_at_once, states, totals);
}

// Rows of more than LONGEST_ROW terms: packs the number of the row among them and the column of each term into a word,
// which are sorted then, and copies the values. `offsets` says where the words of each row begin.
KERNEL pack_longest_rows(FineMatrix fine, Groups groups, In<INDEX> rows, In<i64> offsets, i64 count,
                         u64* __restrict__ words, VALUE* __restrict__ values) {
    const GroupTerms terms = {fine, groups, {}};
    GRID_STRIDE (i64, i, offsets[count]) {
        const i64 number = lower_bound(offsets, 0, count, i + 1) - 1;
        const GroupTerms::Term term = terms.row(rows[number]).load(i - offsets[number]);
        words[i] = (u64)number << 32 | terms.key(term, rows[number]);
        values[i] = term.value;
    }
}

// Segmented sum over the sorted terms of the longest rows: a warp adds up one column in order. The rows are left in the
// room. `heads` says where the columns begin, `firsts` which of them is the first of each row.
KERNEL merge_longest_rows(Groups groups, LongestRows longest, MergeRoom room, In<u64> words, In<VALUE> values,
                          i64 entries, In<i64> heads, i64 merged, In<i64> firsts) {
    const int lane = threadIdx.x % 32;
    GROUP_STRIDE (i64, i, merged, 32) {
        const i64 begin = heads[i], end = i + 1 < merged ? heads[i + 1] : entries;
        VALUE sum = values[begin];
        for (i64 base = begin + 1; base < end; base += 32) {
            const VALUE own = base + lane < end ? values[base + lane] : VALUE{};
            const int count = (int)min(end - base, (i64)32);
            for (int j = 0; j < count; ++j) sum = plus(sum, from_lane(own, j));
        }
        if (lane == 0) {
            const i64 number = words[begin] >> 32;
            const i64 place = groups.first_term(longest.rows[number]) + (i - firsts[number]);
            room.indices[place] = (INDEX)(u32)words[begin];
            room.data[place] = sum;
        }
    }
}
