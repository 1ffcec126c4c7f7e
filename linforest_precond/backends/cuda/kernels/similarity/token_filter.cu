// Thread per pair: merges the sorted tokens of two sets, and stops as soon as one side misses more than its slack.
KERNEL compare_tokens(In<i64> indptr, In<i64> tokens, In<i64> weights, In<i64> lefts, In<i64> rights,
                      In<i64> left_slacks, In<i64> right_slacks, i64 pairs, bool* __restrict__ kept) {
    GRID_STRIDE (i64, pair, pairs) {
        i64 i = indptr[lefts[pair]], j = indptr[rights[pair]];
        const i64 i_end = indptr[lefts[pair] + 1], j_end = indptr[rights[pair] + 1];
        i64 left_slack = left_slacks[pair], right_slack = right_slacks[pair];
        while ((i < i_end || j < j_end) && left_slack >= 0 && right_slack >= 0) {
            if (j == j_end || (i < i_end && tokens[i] < tokens[j])) left_slack -= weights[i++];
            else if (i == i_end || tokens[j] < tokens[i]) right_slack -= weights[j++];
            else ++i, ++j;
        }
        kept[pair] = left_slack >= 0 && right_slack >= 0;
    }
}
