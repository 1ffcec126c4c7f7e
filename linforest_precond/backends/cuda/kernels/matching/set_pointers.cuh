// The pointing phase of locally dominant matching: every vertex points to the other end of its best edge to a free
// vertex. An edge is locally dominant when both of its ends point along it.

struct SetPointers {
    const INDEX* mates;
    INDEX* pointers;
    bool fresh;     // first round: all vertices are free
    bool selected;  // the search has a list of the vertices that must point anew

    DEVICE bool is_active(i64 v) const {
        if (fresh || selected) return true;
        const INDEX target = mates[v] < 0 ? pointers[v] : NO_VERTEX;
        return target >= 0 && mates[target] >= 0;
    }
    DEVICE WEIGHT ranked_value(WEIGHT value) const { return value; }
    DEVICE Availability availability(i64, const Edge& edge) const {
        return fresh || mates[edge.column] < 0 ? NOW : NEVER;
    }
    DEVICE bool take_result(i64 v, const Edge& best, bool) const {
        pointers[v] = best.column;
        return false;
    }
    DEVICE void defer(i64) const {}
    DEVICE void end_rows() const {}
};

// What a vertex's choice and that of the chosen one say.
// NO_CHOICE: the vertex chose nobody. MUTUAL: it and the chosen vertex chose each other. TAKEN: the chosen vertex and a
// third one chose each other. UNDECIDED: otherwise.
enum ChoiceStatus { NO_CHOICE, MUTUAL, TAKEN, UNDECIDED };

// Without branches, so that the dependent loads of several calls overlap (memory-level parallelism).
DEVICE ChoiceStatus choice_status(const INDEX* choices, INDEX v) {
    const INDEX chosen = choices[v], back = choices[chosen < 0 ? v : chosen], third = choices[back < 0 ? v : back];
    return chosen < 0 ? NO_CHOICE : back == v ? MUTUAL : back >= 0 && third == chosen ? TAKEN : UNDECIDED;
}
