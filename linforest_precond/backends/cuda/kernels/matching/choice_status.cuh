// Every vertex has chosen a neighbour; compares its choice with that of the chosen one.

// NO_CHOICE: the vertex chose nobody. MUTUAL: it and the chosen vertex chose each other. TAKEN: the chosen vertex and a
// third one chose each other. UNDECIDED: otherwise.
enum ChoiceStatus { NO_CHOICE, MUTUAL, TAKEN, UNDECIDED };

// Without branches, so that the dependent loads of several calls overlap (memory-level parallelism).
DEVICE ChoiceStatus choice_status(const INDEX* choices, INDEX v) {
    const INDEX chosen = choices[v], back = choices[chosen < 0 ? v : chosen], third = choices[back < 0 ? v : back];
    return chosen < 0 ? NO_CHOICE : back == v ? MUTUAL : back >= 0 && third == chosen ? TAKEN : UNDECIDED;
}
