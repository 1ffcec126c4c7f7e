// The report of a scan, one 64-bit word each. Slots are stored as their complement by atomicMax: zeroed memory means
// none, and the first slot wins.
enum Report { BAD_ROW, OUT_OF_RANGE, NONFINITE, UNSORTED, SYMMETRY, LONGEST_ROW, LARGEST, WORDS };

// Whether a matrix is valid, sorted and symmetric, and no row has more than `longest` entries.
DEVICE bool is_as_expected(const u64* report, i64 longest) {
    for (int word = BAD_ROW; word < LONGEST_ROW; ++word)
        if (report[word]) return false;
    return report[LONGEST_ROW] <= (u64)longest;
}
