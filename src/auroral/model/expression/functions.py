"""Functions that users add to the language from Python."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from auroral.model.errors import DiagramError, Problem
from auroral.model.expression.builtins import BUILTINS
from auroral.model.packages import Kind as Offered
from auroral.model.packages import loaded, offered
from auroral.model.types import FieldType, UnknownType, allowed_types, parse_type

if TYPE_CHECKING:
    from auroral.model.aggregates import UserAggregate

F = TypeVar("F", bound=Callable[..., Any])

_NAME = re.compile(r"[^\W\d]\w*\Z")
# Words of the grammar, and `field("odd name")`.
_RESERVED = frozenset(("if", "then", "else", "or", "and", "not", "true", "false", "null", "field"))


@dataclass(frozen=True, slots=True)
class Function:
    """A user's function. `call` gets and gives Python values, None for null; without it is declared only.

    A timestamp is a datetime in UTC, a date a `datetime.date`: see `uservalues`.
    """

    name: str
    args: tuple[FieldType, ...]
    returns: FieldType
    call: Callable[..., Any] | None = None
    package: str | None = field(default=None, compare=False, repr=False)
    """The installed package that offers it, where one does."""

    def __call__(self, *args: Any) -> Any:
        assert self.call is not None, f"{self.name} is declared only"
        return self.call(*args)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(str(arg) for arg in self.args)}) -> {self.returns}"


@dataclass(frozen=True, slots=True)
class Functions(Mapping[str, Function]):
    """An immutable set of user functions, by lower-case name.

    `aggregates` are those that go with them, by lower-case name too, before what is registered in this process.
    """

    by_name: Mapping[str, Function] = field(default_factory=lambda: MappingProxyType({}))
    aggregates: Mapping[str, UserAggregate] = field(default_factory=lambda: MappingProxyType({}))

    def __getitem__(self, name: str) -> Function:
        return self.by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_name)

    def __len__(self) -> int:
        return len(self.by_name)

    def plus(self, added: Function) -> Functions:
        """These functions and one more, which replaces an earlier one of its name."""
        return Functions(MappingProxyType({**self.by_name, added.name: added}), self.aggregates)


_default = Functions()


def default_functions() -> Functions:
    """The functions registered so far with `register_function` and `@function`."""
    return _default


def make_function(name: str, call: Callable[..., Any] | None, args: str, returns: str) -> Function:
    """A checked function from type texts: `args` is a list like "int, string(8)", empty for none."""
    lowered, problems = name.lower(), []
    if not _NAME.match(name):
        problems.append(
            Problem(
                f"{name!r} cannot be the name of a function",
                allowed="letters, digits and _",
                next_step="give it a name as Python has them",
            )
        )
    if lowered in _RESERVED:
        problems.append(
            Problem(
                f"{name!r} is a word of the expression language",
                allowed=f"names other than {', '.join(sorted(_RESERVED))}",
                next_step="choose another",
            )
        )
    if lowered in BUILTINS:
        problems.append(
            Problem(
                f"the function {name!r} is built in",
                allowed="names that no built-in function has",
                next_step="choose another name",
            )
        )
    types: list[FieldType] = []
    for text in [*_split(args), returns]:
        try:
            types.append(parse_type(text))
        except UnknownType as error:
            step = error.next_step("mend the type")
            problems.append(Problem(f"function {name!r}: {error}", allowed=allowed_types(), next_step=step))
    if problems:
        raise DiagramError(problems)
    return Function(lowered, tuple(types[:-1]), types[-1], call)


def register_function(name: str, call: Callable[..., Any] | None, args: str, returns: str) -> Function:
    """Make a Python function callable in every expression: `register_function("half", f, "int", "double")`.

    It must be pure: same arguments, same result, on every replica. A later one of the same name replaces it.
    """
    global _default
    made = make_function(name, call, args, returns)
    _default = _default.plus(made)
    return made


def function(signature: str, *, name: str | None = None) -> Callable[[F], F]:
    """`register_function` as a decorator, `@function("int, int -> double")`; it keeps the Python name."""
    args, returns = signature_parts(signature)

    def register(call: F) -> F:
        register_function(name or call.__name__, call, args, returns)
        return call

    return register


def signature_parts(signature: str) -> tuple[str, str]:
    """The types of the arguments, and that of the result."""
    args, arrow, returns = signature.rpartition("->") if isinstance(signature, str) else ("", "", "")  # type: ignore[redundant-expr]  # users err
    if not arrow:
        raise DiagramError(
            [
                Problem(
                    f"{signature!r} is not the signature of a function",
                    allowed='"int, int -> double"',
                    next_step='write the types of the arguments, an arrow, and that of the result: @auroral.function("int -> int")',
                )
            ]
        )
    return args, returns


def packaged_function(name: str, taken: str | None = None) -> Function | None:
    """The function of that name that an installed package offers; `taken` says who has the name already."""
    offer = offered(Offered.FUNCTION, name, taken)
    if offer is None:
        return None
    found: Function = loaded(offer, Function, "a function made by @auroral.extend.function")
    return replace(found, name=name, package=offer.package)


def _split(args: str) -> list[str]:
    return re.split(r",(?![^()]*\))", args) if args.strip() else []
