// Copies the blocks of the permuted block tridiagonal matrix. A thread per place of a block, which searches A's entries
// at this place of the diagonal block and of the lower and upper one. Blocks have 2^bits rows. The diagonal entry of a
// ghost is that of the block's first vertex, `one` where that is 0.
KERNEL copy_blocks(In<INDEX> indptr, In<INDEX> indices, In<VALUE> data, In<VALUE> matrix_diagonal, VALUE one,
                   In<INDEX> members, In<bool> starts_path, i64 blocks, int bits, VALUE* __restrict__ lower,
                   VALUE* __restrict__ diagonal, VALUE* __restrict__ upper) {
    const i64 places = blocks << 2 * bits, size = 1ll << bits;
    GRID_STRIDE (i64, place, places) {
        const i64 block = place >> 2 * bits, column = (block << bits) + (place & (size - 1));
        const INDEX v = members[place >> bits], w = members[column];
        const bool first = starts_path[block], last = block + 1 == blocks || starts_path[block + 1];
        lower[place] = first ? VALUE{} : stored_value(indptr, indices, data, v, members[column - size]);
        if (v < 0 && place >> bits == column) {
            const VALUE own = matrix_diagonal[members[block << bits]];
            diagonal[place] = is_zero(own) ? one : own;
        } else {
            diagonal[place] = stored_value(indptr, indices, data, v, w);
        }
        upper[place] = last ? VALUE{} : stored_value(indptr, indices, data, v, members[column + size]);
    }
}
