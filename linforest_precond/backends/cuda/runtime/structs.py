"""Definitions that Python and the kernels share: mirrors of C structs, and headers generated from tables.

The compiler checks that the layouts of a struct and its mirror agree.
"""

import functools
import re
import struct
from importlib import resources

import numpy as np

KERNELS = resources.files(__package__.rpartition(".")[0]).joinpath("kernels")
# The mirrors of each source file that defines structs: the loader appends their checks to the file.
MIRRORS = {}
# The text of each generated header, by the name that kernels include; the loader inlines it like a file.
HEADERS = {}
# The format characters of numbers in module `struct`, by their types in C++.
FORMATS = {"int": "i", "u32": "I", "i64": "q", "u64": "Q", "double": "d"}
# A declaration of members: `const u32* first, *second;` or `In<u32> first;`. Functions have parentheses.
MEMBERS = re.compile(r"^ {4}(?:const |struct )*([\w<>]+)([^\w(){};][^(){};]*);", re.MULTILINE)


def source(file):
    """The text of a file of kernels/."""
    if file in HEADERS:
        return HEADERS[file]
    return KERNELS.joinpath(file).read_text(encoding="utf-8")


class Struct:
    """The mirror of a C struct that is passed by value; `file` is that of kernels/ that defines it.

    Its fields are read from there. A field that is an array or a struct itself is given by format characters
    of module `struct`, one for each number (`P` for a pointer).
    """

    def __init__(self, name, file, **several):
        self.name, self.file, self._several = name, file, several
        MIRRORS.setdefault(file, []).append(self)

    @functools.cached_property
    def fields(self):
        """The format characters of each field."""
        text = re.sub("//.*", "", source(self.file))
        body = re.search(rf"^struct {self.name} \{{\n(.*?)^\}}", text, re.DOTALL | re.MULTILINE)[1]
        fields = {}
        for kind, declarators in MEMBERS.findall(body):
            for declarator in declarators.replace("__restrict__", "").split(","):
                name = re.search(r"\w+", declarator)[0]
                letters = "P" if "*" in declarator or kind.startswith("In<") else FORMATS.get(kind)
                fields[name] = self._several.get(name, letters)
        return fields

    @functools.cached_property
    def _packing(self):
        """The layout, with trailing padding; the type of a packed struct; how each field is packed."""
        letters = "".join(self.fields.values())
        layout = struct.Struct(f"{letters}0{max(letters, key=struct.calcsize)}")
        kinds = [(name, own == "P", len(own) > 1) for name, own in self.fields.items()]
        # CuPy passes a NumPy array of one void item by value.
        return layout, np.dtype((np.void, layout.size)), kinds

    @property
    def size(self):
        return self._packing[0].size

    def __call__(self, **values):
        """Pack the values of all fields: arrays as addresses, a list for a field of several characters."""
        layout, dtype, kinds = self._packing
        flat = []  # every launch packs: few steps a field
        for name, is_pointer, is_several in kinds:
            value = values[name]
            if is_several:
                flat += value
            else:
                flat.append(address(value) if is_pointer else value)
        return np.frombuffer(layout.pack(*flat), dtype)

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
