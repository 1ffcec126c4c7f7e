"""Definitions that Python and the kernels share: mirrors of C structs, and headers generated from tables.

The compiler checks that the layouts of a struct and its mirror agree.
"""

import struct

import numpy as np

# The mirrors of each source file that defines structs: the loader appends their checks to the file.
MIRRORS = {}
# The text of each generated header, by the name that kernels include; the loader inlines it like a file.
HEADERS = {}


class Struct:
    """The mirror of a C struct that is passed by value; `file` is that of kernels/ that defines it.

    The type of a field is a format character of module `struct` (`P` for a pointer), or several where the
    field is an array or a struct itself.
    """

    def __init__(self, name, file, **fields):
        self.name, self.fields = name, fields
        letters = "".join(fields.values())
        widest = max(letters, key=struct.calcsize)
        self._layout = struct.Struct(f"{letters}0{widest}")  # with trailing padding
        self.size = self._layout.size
        # CuPy passes a NumPy array of one void item by value.
        self._dtype = np.dtype((np.void, self.size))
        self._kinds = [(name, own == "P", len(own) > 1) for name, own in fields.items()]
        MIRRORS.setdefault(file, []).append(self)

    def __call__(self, **values):
        """Pack the values of all fields: arrays as addresses, a list for a field of several characters."""
        flat = []  # every launch packs: few steps a field
        for name, is_pointer, is_several in self._kinds:
            value = values[name]
            if is_several:
                flat += value
            else:
                flat.append(address(value) if is_pointer else value)
        return np.frombuffer(self._layout.pack(*flat), self._dtype)

    def checks(self):
        """`static_assert`s of the struct's size, and of the offset and size of every field.

        NVRTC 13.0 has no `__builtin_offsetof`, NVRTC 13.4 has.
        """
        yield f'static_assert(sizeof({self.name}) == {self.size}, "{self.name}: size of its mirror");'
        yield "#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1304"
        letters = ""
        for field, own in self.fields.items():
            offset, size = struct.calcsize(f"{letters}0{own[0]}"), struct.calcsize(own)
            yield (
                f"static_assert(__builtin_offsetof({self.name}, {field}) == {offset} && "
                f'sizeof({self.name}::{field}) == {size}, "{self.name}.{field}: its mirror lies elsewhere");'
            )
            letters += own
        yield "#endif"


def layout_checks(file):
    """The checks of all structs that a source file defines, as lines of C++."""
    return [line for mirror in MIRRORS.get(file, ()) for line in mirror.checks()]


def address(array):
    """The address of a device array; integers are addresses already, None is the null pointer."""
    if array is None or isinstance(array, int):
        return array or 0
    return array.data.ptr


def generate_header(file, *, enums=(), constants=(), **macros):
    """Define the header `file` from Python's tables of constants, (prefix, IntEnum) pairs, and from numbers.

    Each of `enums` becomes a C enum of the same name, whose members have the prefix, with `<prefix>COUNT`;
    each member of `constants` a macro of a double.
    """
    lines = [f"#define {name} {number}" for name, number in macros.items()]
    for prefix, table in constants:
        lines += [f"#define {prefix}{member.name} {float(member)}" for member in table]
    for prefix, table in enums:
        members = [f"{prefix}{member.name} = {int(member)}" for member in table]
        lines.append(f"enum {table.__name__} {{ {', '.join(members)}, {prefix}COUNT = {len(table)} }};")
    HEADERS[file] = "\n".join(lines) + "\n"
