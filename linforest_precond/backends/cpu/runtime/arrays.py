"""Arrays as kernels take them: read-only views, sentinels, stream compaction, sorting, searches."""

from .jit import helper, kernel

# Sentinels that kernels of several rooms write.
NO_VERTEX = -1  # in an array of vertices (neighbours, mates, ...): there is none
NOT_FOUND = -1  # in place of the position of a row or entry: there is none
# Items of an active list that one thread compacts at a time.
BLOCK = 2048


def readonly(array):
    """A view that cannot be written: writable and read-only inputs then share one compiled kernel."""
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view


# Shell sort (Shell 1959, Knuth's gaps) of the first `count` keys, all different; the weights move along.
@helper
def shell_sort(keys, weights, count):
    gap = 1
    while gap < count // 9:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, count):
            key, weight = keys[i], weights[i]
            place = i
            while place >= gap and keys[place - gap] > key:
                keys[place], weights[place] = keys[place - gap], weights[place - gap]
                place -= gap
            keys[place], weights[place] = key, weight
        gap //= 3


# Stream compaction of a list of active vertices in place: the items left at the front of every block, which a
# thread has compacted, move to the front of the list in their order. Returns their number.
@kernel(parallel=False)
def compact(active, left):
    size = left[0] if left.size else 0
    for block in range(1, left.size):
        start = block * BLOCK
        if size == start:
            size += left[block]
            continue
        for i in range(start, start + left[block]):
            active[size] = active[i]
            size += 1
    return size


# The first place in the sorted keys [begin, end) whose key is not less than `key`.
@helper
def lower_bound(keys, begin, end, key):
    while begin < end:
        middle = (begin + end) >> 1
        if keys[middle] < key:
            begin = middle + 1
        else:
            end = middle
    return begin


# Replaces labels by consecutive numbers in the order of their first occurrences; `numbers` are -1 at first.
# Returns how many labels there are.
@kernel
def number_by_first(labels, numbers):
    count = 0
    for i in range(labels.size):
        label = labels[i]
        if numbers[label] < 0:
            numbers[label] = count
            count += 1
        labels[i] = numbers[label]
    return count
