"""Headers generated from Python's tables of constants, so that no number is kept twice by hand."""

# The text of each generated header, by the name that kernels include; the loader inlines it like a file.
HEADERS = {}


def generate_header(file, *, enums=(), constants=(), **macros):
    """Define the header `file`.

    Parameters
    ----------
    enums
        (prefix, IntEnum) pairs: a C enum of the same name, each member with the prefix, and `<prefix>COUNT`.
    constants
        (prefix, IntEnum) pairs: a macro of a double for each member.
    macros
        Numbers.
    """
    lines = [f"#define {name} {number}" for name, number in macros.items()]
    for prefix, table in constants:
        lines += [f"#define {prefix}{member.name} {float(member)}" for member in table]
    for prefix, table in enums:
        members = [f"{prefix}{member.name} = {int(member)}" for member in table]
        lines.append(f"enum {table.__name__} {{ {', '.join(members)}, {prefix}COUNT = {len(table)} }};")
    HEADERS[file] = "\n".join(lines) + "\n"
