"""Warnings attributed to the user's line, however deep in the package they are raised; none of NumPy's.

Unknown arguments of public functions are answered by the nearest known one. Names that were changed work for
one more release, with a DeprecationWarning.
"""

import difflib
import functools
import inspect
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

import numpy as np

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


# Arguments of other libraries, and what they may be called here.
OTHER_NAMES = {
    "tol": ("rtol", "tolerance"), "iterations": ("sweeps", "maxiter"), "disp": ("verbose",),
    "show": ("verbose",), "random_state": ("seed",), "rng": ("seed",),
    "max_iter": ("maxiter", "max_rounds", "iterations"), "maxiter": ("max_iter", "max_rounds", "iterations"),
    "max_iterations": ("maxiter", "max_rounds", "iterations"), "order": ("ordering",),
    "permutation": ("ordering",), "preconditioner": ("M", "method"), "precond": ("M", "method"),
    "M": ("method",), "solver": ("method", "accel"), "ksp_type": ("method",), "pc_type": ("method",),
    "timeout": ("time_limit",), "presmoother": ("smoother",), "postsmoother": ("smoother",),
    "csgraph": ("A",), "residuals": ("history",), "damping": ("alpha", "omega"),
}  # fmt: skip


def named_arguments(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Decorator of public functions: an unknown argument is named together with the function.

    And so are those that cannot be passed by position.
    """

    @functools.wraps(function)
    def called(*args: Parameters.args, **options: Parameters.kwargs) -> Result:
        try:
            return function(*args, **options)
        except TypeError:
            refuse_call(function, args, options)
            raise

    return called


def without_numpy_warnings(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Decorator of public functions: overflows and divisions by zero give infinities, and no warnings.

    Infinities are handled. (`np.errstate` as a decorator is not thread-safe in NumPy 1.) Arguments are named,
    as by `named_arguments`.
    """

    @functools.wraps(function)
    def silenced(*args: Parameters.args, **options: Parameters.kwargs) -> Result:
        with np.errstate(all="ignore"):
            return function(*args, **options)

    return named_arguments(silenced)


def refuse_call(function: Callable[..., Any], args: Sequence[Any], options: dict[str, Any]) -> None:
    """Raise a TypeError that names the first unknown argument and what was probably meant.

    Or one that lists the arguments by position, where there are more.
    """
    known = _parameters(function)
    if any(each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) for each in known.values()):
        return
    is_method = known.pop("self", None) is not None
    given = len(args) - is_method
    name = type(args[0]).__name__ if function.__name__ == "__init__" else function.__name__
    unknown = next((option for option in options if option not in known), None)
    if unknown is not None:
        close = [other for other in OTHER_NAMES.get(unknown, ()) if other in known]
        if len(stem := unknown.removesuffix("s")) >= 3:
            close += [word for word in known if word.startswith(stem)]
        close = close or difflib.get_close_matches(unknown, known, 1, cutoff=0.65)
        hint = f"did you mean {close[0]}?" if close else f"it has {', '.join(known) or 'none'}"
        of_class = inspect.signature(type(args[0])).parameters if is_method else {}
        words = [word for word in (unknown, *OTHER_NAMES.get(unknown, ())) if word in of_class]
        if words and not close:
            hint = f"pass {words[0]}= to {type(args[0]).__name__}()"
        raise TypeError(f"{name}() has no argument {unknown!r}: {hint}") from None
    named = [word for word, each in known.items() if each.kind is each.KEYWORD_ONLY]
    by_position = [word for word in known if word not in named]
    if by_position == ["shape"] and given > 1 and all(isinstance(each, int) for each in args):
        raise TypeError(f"{name}() takes the shape as a tuple: {name}({tuple(args)})") from None
    if named and given > len(by_position):
        raise TypeError(
            f"{name}() takes {', '.join(by_position)} by position: name the others, as in {named[0]}=..."
        ) from None


def _parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The parameters by name; those of ``**options: Unpack[Keywords]`` are the keys of the TypedDict."""
    known = dict(inspect.signature(function).parameters)
    for each in list(known.values()):
        unpacked = re.fullmatch(r"Unpack\[(\w+)\]", str(each.annotation))
        if unpacked:
            keywords = inspect.unwrap(function).__globals__[unpacked[1]].__annotations__
            known |= {word: inspect.Parameter(word, each.KEYWORD_ONLY) for word in keywords}
            del known[each.name]
    return known


def renamed_arguments(**names: str) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Decorator: arguments by their old names, ``renamed_arguments(old="new")``, with a DeprecationWarning.

    Examples
    --------
    >>> from linforest_precond.backends.user_warnings import renamed_arguments
    >>> @renamed_arguments(order="ordering")
    ... def first(ordering):
    ...     return ordering[0]
    >>> first(order=[2, 0, 1])  # doctest: +SKIP
    DeprecationWarning: first(): order= is deprecated, use ordering=
    2
    """

    def decorated(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        function = named_arguments(function)

        @functools.wraps(function)
        def called(*args: Parameters.args, **options: Parameters.kwargs) -> Result:
            for old in names.keys() & options.keys():
                new, value = names[old], options.pop(old)
                if new in options:
                    raise TypeError(f"{function.__name__}() takes {new}= or {old}=, its old name, got both")
                warn_deprecated(f"{function.__name__}(): {old}= is deprecated, use {new}=")
                options[new] = value
            return function(*args, **options)

        return called

    return decorated


def warn_deprecated(message: str) -> None:
    """Issue a DeprecationWarning located at the first caller outside this package."""
    warn_user(message, category=DeprecationWarning)


def warn_user(message: str, through: Sequence[str] = (), category: type[Warning] = RuntimeWarning) -> None:
    """Issue a warning located at the first caller outside this package and those in `through`."""
    packages = (__name__.partition(".")[0], *through)
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in packages:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
