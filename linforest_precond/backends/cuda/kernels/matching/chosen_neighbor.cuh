// What vertices come to know that have each chosen another.

// Of a vertex that chose nobody; was chosen by whom it chose; chose one that, with a third, chose each other; chose one
// that chose elsewhere.
enum Choice { NONE, MUTUAL, TAKEN, UNDECIDED };

// Without branches, so that several are under way at once.
__device__ __forceinline__ Choice choice_of(const INDEX* choices, INDEX v) {
    const INDEX chosen = choices[v], back = choices[chosen < 0 ? v : chosen], third = choices[back < 0 ? v : back];
    return chosen < 0 ? NONE : back == v ? MUTUAL : back >= 0 && third == chosen ? TAKEN : UNDECIDED;
}
