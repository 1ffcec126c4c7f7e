"""Sorting inside kernels."""

from .jit import helper


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
