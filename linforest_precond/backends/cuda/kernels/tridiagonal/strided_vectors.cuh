// Right-hand sides and solutions: strided 2-D arrays, of the stored precision or of twice that.
struct Vectors {
    const void* source;
    void* target;
    i64 wide;           // whether both hold values of twice the stored precision
    const void* order;  // the row of both arrays that each scalar row is, -1 for a ghost row; null: the identity
    i64 wide_order;     // whether `order` holds 64-bit numbers
    i64 source_row, source_column, target_row, target_column;  // strides
    i64 columns;
};

DEVICE i64 place_of(const Vectors& vectors, i64 row) {
    if (!vectors.order) return row;
    return vectors.wide_order ? ((const i64*)vectors.order)[row] : ((const int*)vectors.order)[row];
}
DEVICE VALUE value_at(const Vectors& vectors, i64 at) {
    VALUE value;
    if (vectors.wide) convert(value, ((const WIDE*)vectors.source)[at]);
    else value = ((const VALUE*)vectors.source)[at];
    return value;
}
DEVICE void put(const Vectors& vectors, i64 at, VALUE value) {
    if (vectors.wide) convert(((WIDE*)vectors.target)[at], value);
    else ((VALUE*)vectors.target)[at] = value;
}
