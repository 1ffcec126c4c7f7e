"""What the paper has, and what of it is here."""

COVERAGE = (
    ("Algorithm 1, serial", "yes", 'method="serial", on the CPU'),
    ("Algorithm 2, leveled", "yes", 'method="leveled", CPU and GPU; all levels in one launch'),
    (
        "Algorithm 3, unordered",
        "yes",
        'method="unordered", CPU and GPU. The search is direction-optimizing instead of speculative with '
        "relaxation; depths are the same. The order is that of Algorithm 1.",
    ),
    ("Algorithm 4, basic batches", "yes", "BatchOptions(early=False)"),
    (
        "Algorithm 5, early discovery and signals",
        "yes",
        "BatchOptions(early=True). Marks are positions instead of batches. On the GPU, rows are sorted by "
        "degree beforehand, and marks are always read again, since the threads of a block mark at once.",
    ),
    (
        "Overhangs, and the signal Completed",
        "in another way",
        "Less than half a batch is left to the next one; a position says for itself whether it is written.",
    ),
    ("Batches balanced by valence (IV-C)", "yes", "BatchOptions(balanced=True)"),
    (
        "Overestimated numbers, empty batches (V-B)",
        "yes",
        "BatchOptions(overestimate=True), with a proven bound instead of twice the ideal number",
    ),
    ("Several batches per worker (IV-D)", "yes", "BatchOptions(concurrent=2)"),
    ("Early termination (IV-D)", "yes", "always on"),
    (
        "Ring buffer, histograms of valences (V)",
        "no",
        "The queue is an array, and a row that exceeds the scratchpad is processed in chunks, which its "
        "sorted neighbours allow.",
    ),
    ("Search for a start (III)", "in another way", "the George-Liu search, from the vertex of lowest degree"),
    ("Table I", "yes", "HSL is not run, SciPy is; Reorderlib is compared with our unordered method"),
    ("Figure 1", "no", "a drawing of the algorithm"),
    ("Figure 2", "yes", "speed-ups over SciPy, the paper's over HSL as dots"),
    ("Figure 3", "yes", "shares of batches dequeued and executed"),
    ("Figure 4", "in part", "without MATLAB, cuSolver, HSL and the transfer between GPU and CPU"),
    ("Figure 5", "in part", "the absolute speed-ups (a); the normalized ones (b) follow from threads.csv"),
    ("Figure 6", "yes", "times instead of cycles on the CPU"),
)
