"""Print the time of several ways to one result; the programs beside this one share it."""

from time import perf_counter


def compare(ways, error, word="residual"):
    """Call each of the ways, print its seconds and the error of what it returns; return the last of these.

    The first call of a way compiles and is not timed; the best of the others counts, three of them or as many
    as fit into two seconds.
    """
    for name, way in ways.items():
        result, times = way(), []
        while len(times) < 3 and sum(times) < 2:
            start = perf_counter()
            result = way()
            times.append(perf_counter() - start)
        print(f"{name:<44} {min(times):8.3f} s   {word} {error(result):.0e}", flush=True)
    return result
