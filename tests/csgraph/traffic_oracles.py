"""Traffic statistics in plain Python: a dictionary of links."""

from collections import Counter


def links(sources, destinations, packets=None):
    """{(source, destination): packets} without links of 0 packets."""
    found = Counter()
    counts = [1] * len(sources) if packets is None else map(int, packets)
    for source, destination, count in zip(map(int, sources), map(int, destinations), counts, strict=True):
        found[source, destination] += count
    return +found


def statistics(found):
    """The nine properties, in the order of `TrafficStatistics`."""
    largest = max(found.values(), default=0)
    return sum(found.values()), len(found), largest, *side(found, 0), *side(found, 1)


def side(found, end):
    """How many ends there are, and the most packets and links of one."""
    packets, fan = Counter(), Counter()
    for link, count in found.items():
        packets[link[end]] += count
        fan[link[end]] += 1
    return len(fan), max(packets.values(), default=0), max(fan.values(), default=0)
