#define MOST_ARRAYS 8

// Arrays of double precision, and where they go in single precision; `ends` are the numbers of all up to each one.
struct Conversion {
    const double* from[MOST_ARRAYS];
    float* to[MOST_ARRAYS];
    i64 ends[MOST_ARRAYS];
};

// Rounds the numbers of several arrays to single precision.
KERNEL narrow_arrays(Conversion arrays, i64 count) {
    GRID_STRIDE (i64, i, count) {
        int own = 0;
        while (i >= arrays.ends[own]) ++own;
        const i64 place = own ? i - arrays.ends[own - 1] : i;
        arrays.to[own][place] = narrowed(arrays.from[own][place]);
    }
}
