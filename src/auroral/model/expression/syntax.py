"""The syntax tree of an expression, before names and types are known. `at` is the offset in the text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant as written; `suffix` is the f or d of a float that says its type."""

    at: int
    value: bool | int | float | str | None
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Name:
    at: int
    qualifier: str | None
    name: str


@dataclass(frozen=True, slots=True)
class Arrow:
    """`array->field`: part of Borealis' language, but arrays are not among our types."""

    at: int
    array: str
    name: str


@dataclass(frozen=True, slots=True)
class Unary:
    at: int
    op: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Binary:
    at: int
    op: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class If:
    at: int
    condition: Node
    then: Node
    otherwise: Node


@dataclass(frozen=True, slots=True)
class Call:
    at: int
    name: str
    args: tuple[Node, ...]


Node = Literal | Name | Arrow | Unary | Binary | If | Call


@dataclass(frozen=True, slots=True)
class Expr:
    """A parsed expression and the text that it came from."""

    text: str
    root: Node

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """One call of an aggregate function, such as `sum(bytes * 8)`; `count(*)` has no arguments."""

    text: str
    at: int
    name: str
    args: tuple[Expr, ...]

    def __str__(self) -> str:
        return self.text


def children(node: Node) -> tuple[Node, ...]:
    match node:
        case Unary():
            return (node.operand,)
        case Binary():
            return (node.left, node.right)
        case If():
            return (node.condition, node.then, node.otherwise)
        case Call():
            return node.args
        case _:
            return ()


def walk(root: Node, levels: Callable[[Node], int]) -> Iterator[tuple[Node, int]]:
    """Every node with its depth, in the levels that each adds.

    Without recursion: the tree may still be deeper than Python's stack.
    """
    waiting = [(root, levels(root))]
    while waiting:
        node, depth = waiting.pop()
        yield node, depth
        waiting.extend((child, depth + levels(child)) for child in children(node))
