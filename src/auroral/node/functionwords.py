"""What the functions of a diagram do, in a short text: the same wherever and whenever it is written.

A diagram's words name its functions and do not tell what is in them, so that a mended function goes on in the same
run. This tells whether it was mended.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import pickle
import re
from collections.abc import Iterator, Mapping
from dataclasses import Field, fields, is_dataclass
from enum import Enum
from types import BuiltinMethodType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import cloudpickle

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_NOT_CODE = {
    *("__dict__", "__weakref__", "__doc__", "__module__", "__slotnames__", "__firstlineno__", "__static_attributes__"),
    *("__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__"),
}
"""What Python itself puts into a class, or what does not change what it does."""


def function_words(checked: object) -> str:
    """A hash of the code of all functions in a diagram or a part of it, of functions and classes of the same module that they use, and of the values
    that they hold. A value that each process pickles in another way makes it another one each time."""
    hashed = hashlib.blake2b(digest_size=16)
    for word in _Walk().in_diagram(checked):
        hashed.update(word.encode("utf-8", "surrogatepass") + b"\0")
    return hashed.hexdigest()


class _Walk:
    """Functions and classes are told once. Values are told wherever they stand, since equal ones may or may not be the
    same object; but not within themselves.

    Functions and classes of another module than `module` are only named; None is for those in the diagram.
    """

    def __init__(self) -> None:
        self._told: set[int] = set()
        self._within: set[int] = set()

    def in_diagram(self, value: Any) -> Iterator[str]:
        """The functions in a diagram's parts."""
        # Our own may change with a version; what they do for a diagram does not.
        if callable(value) and not (getattr(value, "__module__", None) or "").startswith("auroral."):
            yield from self._of(value, None)
        elif isinstance(value, type):
            return
        elif is_dataclass(value):
            if id(value) not in self._told:
                self._told.add(id(value))
                for field in fields(value):
                    yield from self.in_diagram(getattr(value, field.name, None))
        elif isinstance(value, Mapping):
            for name in value:
                yield from self.in_diagram(value[name])
        elif isinstance(value, tuple | list):
            for part in value:
                yield from self.in_diagram(part)

    def _of(self, value: Any, module: str | None) -> Iterator[str]:
        if isinstance(value, FunctionType | type):
            if value.__module__ == "builtins" or module not in (None, value.__module__):
                yield f"{value.__module__}.{value.__qualname__}"
            elif id(value) not in self._told:
                self._told.add(id(value))
                yield from self._function(value) if isinstance(value, FunctionType) else self._class(value)
        elif isinstance(value, ModuleType):
            yield value.__name__
        elif id(value) in self._within:
            yield "itself"
        else:
            self._within.add(id(value))
            yield from self._held(value, module)
            self._within.discard(id(value))

    def _held(self, value: Any, module: str | None) -> Iterator[str]:
        kind = type(value)
        own = kind.__module__ == module or (module is None and kind.__module__ not in ("builtins", "functools"))
        if own:
            yield from self._of(kind, kind.__module__)
        if isinstance(value, MethodType):
            yield from self._each(module, value.__func__, value.__self__)
        elif isinstance(value, BuiltinMethodType):
            yield value.__name__
            # Never a diagram's own: what it is bound to is data, whatever its class.
            yield from self._of(value.__self__, module or "")
        elif isinstance(value, functools.partial):
            yield from self._each(module, value.func, value.args, value.keywords)
        elif isinstance(value, staticmethod | classmethod):
            yield from self._of(value.__func__, module)
        elif isinstance(value, property):
            yield from self._each(module, value.fget, value.fset, value.fdel)
        elif isinstance(value, functools.cached_property):
            yield from self._of(value.func, module)
        elif isinstance(value, Field):
            yield from self._each(module, *(getattr(value, name) for name in Field.__slots__))
        elif kind.__module__.startswith("pyspark.") and "func" in getattr(value, "__dict__", {}):
            # Spark's udf: once it was called it holds on to Spark, and cannot be pickled any more. (A Column has any attribute
            # that is asked for.)
            yield from self._each(module, value.func, value._returnType)
        elif isinstance(value, tuple | list):
            yield from self._each(module, *value)
        elif isinstance(value, Mapping):
            for key in sorted(value, key=_plain):
                yield _plain(key)
                yield from self._of(value[key], module)
        elif hasattr(value, "__wrapped__"):
            yield from self._of(value.__wrapped__, module)
        elif own and not isinstance(value, Enum):
            yield from self._of(object.__getstate__(value), kind.__module__)
        else:
            yield _plain(value)

    def _each(self, module: str | None, *values: Any) -> Iterator[str]:
        for value in values:
            yield from self._of(value, module)

    def _function(self, function: FunctionType) -> Iterator[str]:
        yield from _code(function.__code__)
        module = function.__module__
        # What a decorator was put around, as Spark's udf is.
        wrapped = vars(function).get("__wrapped__")
        yield from self._each(module, function.__defaults__, function.__kwdefaults__, wrapped)
        for cell in function.__closure__ or ():
            try:
                yield from self._of(cell.cell_contents, module)
            except ValueError:
                yield "an empty cell"
        for name in sorted(_globals(function.__code__)):
            if name in function.__globals__:
                yield name
                yield from self._of(function.__globals__[name], module)

    def _class(self, kind: type) -> Iterator[str]:
        yield kind.__qualname__
        if issubclass(kind, Enum):
            yield from self._of({one.name: one.value for one in kind}, kind.__module__)
            return
        yield from self._each(kind.__module__, *kind.__bases__)
        for name, value in sorted(vars(kind).items()):
            if name not in _NOT_CODE:
                yield name
                yield from self._of(value, kind.__module__)


def _code(code: CodeType) -> Iterator[str]:
    # Without names of files and numbers of lines: moving a function does not change it.
    yield code.co_code.hex()
    yield " ".join((*code.co_names, *code.co_varnames, *code.co_freevars))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code(constant)
        else:
            yield _plain(constant)


def _globals(code: CodeType) -> set[str]:
    """Names that are read as globals: those that are stored with a function."""
    found = {i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return found.union(*(_globals(one) for one in inner))


def _plain(value: Any) -> str:
    if isinstance(value, frozenset | set):
        # Their order differs from process to process.
        return " ".join(sorted(map(_plain, value)))
    if isinstance(value, tuple):
        return f"({', '.join(map(_plain, value))})"
    if type(value).__module__ != "builtins" and not isinstance(value, Enum):
        # Long arrays, frames and patterns leave something out of their repr. What each process pickles in another way
        # counts as mended.
        try:
            # Twice, since what a run's folder gives back may be laid out in another way, as a part of an array is.
            again = cloudpickle.dumps(pickle.loads(cloudpickle.dumps(value)))
            return hashlib.blake2b(again, digest_size=16).hexdigest()
        except Exception:  # noqa: BLE001  any class may refuse in its own way
            # A lock, a session: a handle on something, which is stored with no function.
            pass
    return _ADDRESS.sub("", repr(value))
