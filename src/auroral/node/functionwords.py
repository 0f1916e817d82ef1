"""What the functions of a diagram do, in a short text: the same wherever and whenever it is written.

A diagram's words name its functions and do not tell what is in them, so that a mended function goes on in the same
run. This tells whether it was mended.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from auroral.model.checking import Checked

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def function_words(checked: Checked) -> str:
    """A hash of the code of all functions, of those that they call in the same module, and of what they hold."""
    digest = hashlib.blake2b(digest_size=16)
    for word in _found(checked, set()):
        digest.update(word.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()


def _found(value: Any, seen: set[int]) -> Iterator[str]:
    """The functions in a diagram's parts, each once."""
    if isinstance(value, type) or id(value) in seen:
        return
    if is_dataclass(value):
        seen.add(id(value))
        for field in fields(value):
            yield from _found(getattr(value, field.name, None), seen)
    elif isinstance(value, Mapping):
        for name in value:
            yield from _found(value[name], seen)
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _found(part, seen)
    elif callable(value) and not (getattr(value, "__module__", None) or "").startswith("auroral."):
        # Our own may change with a version; what they do for a diagram does not.
        yield from _words(value, seen, None)


def _words(value: Any, seen: set[int], module: str | None) -> Iterator[str]:
    """A function, or a value that one holds. Functions of another module than `module` are only named."""
    if isinstance(value, functools.partial):
        for part in (value.func, *value.args, *value.keywords.items()):
            yield from _words(part, seen, module)
    elif isinstance(value, MethodType):
        yield from _words(value.__func__, seen, module)
        yield from _words(vars(value.__self__) if hasattr(value.__self__, "__dict__") else None, seen, module)
    elif isinstance(value, FunctionType) and (module is None or value.__module__ == module):
        if id(value) not in seen:
            seen.add(id(value))
            yield from _function(value, seen)
    elif isinstance(value, FunctionType | type | ModuleType):
        yield f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value.__name__)}"
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _words(part, seen, module)
    elif isinstance(value, Mapping):
        for key in sorted(value, key=repr):
            yield repr(key)
            yield from _words(value[key], seen, module)
    else:
        yield _plain(value)


def _function(function: FunctionType, seen: set[int]) -> Iterator[str]:
    yield from _code(function.__code__)
    module = function.__module__
    yield from _words(function.__defaults__, seen, module)
    yield from _words(function.__kwdefaults__, seen, module)
    for cell in function.__closure__ or ():
        try:
            yield from _words(cell.cell_contents, seen, module)
        except ValueError:
            yield "an empty cell"
    for name in sorted(_names(function.__code__)):
        if name in function.__globals__:
            yield name
            yield from _words(function.__globals__[name], seen, module)


def _code(code: CodeType) -> Iterator[str]:
    # Without names of files and numbers of lines: moving a function does not change it.
    yield code.co_code.hex()
    yield " ".join((*code.co_names, *code.co_varnames, *code.co_freevars))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code(constant)
        else:
            yield _plain(constant)


def _names(code: CodeType) -> set[str]:
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*(_names(one) for one in inner))


def _plain(value: Any) -> str:
    if isinstance(value, frozenset | set):
        # Their order differs from process to process.
        return " ".join(sorted(map(repr, value)))
    return _ADDRESS.sub("", repr(value))
