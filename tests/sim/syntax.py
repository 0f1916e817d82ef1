"""Faults in the protocol that its syntax suggests: one place each, as text, so that each can be shown as one changed line."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from sim.mutants import PACKAGE

COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="} | {
    "is": "is not", "is not": "is", "in": "not in", "not in": "in"
}  # fmt: skip
SIGNS: dict[type[ast.AST], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.And: "and", ast.Or: "or",
}  # fmt: skip
OPERATORS = {"+": "-", "-": "+", "*": "/", "and": "or", "or": "and"}
OF_PEOPLE = {"__str__", "as_markdown", "_named"}
"""Functions that make text for people."""
FLAGS = {"init", "compare", "repr", "strict"}
"""Arguments that say how a field is shown, or that check what cannot be."""


@dataclass(frozen=True, slots=True)
class AstMutant:
    file: str
    where: str
    """The function or class."""
    line: int
    before: str
    after: str
    """The lines that change, joined."""
    text: str
    """The whole file, changed."""

    def __str__(self) -> str:
        """Without the line: other changes of the file leave the name alone."""
        return f"{self.file}, {self.where}: {self.before} → {self.after}"


@dataclass(slots=True)
class _Finder(ast.NodeVisitor):
    """Collects what can be changed, as (begin, end, other text), in bytes of the file."""

    file: str
    source: bytes
    scope: tuple[str, ...]
    found: list[AstMutant]

    def segment(self, begin: int, end: int) -> str:
        return self.source[begin:end].decode()

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        lines = [0, *(at + 1 for at, byte in enumerate(self.source) if byte == ord("\n"))]
        assert node.end_lineno is not None and node.end_col_offset is not None
        return lines[node.lineno - 1] + node.col_offset, lines[node.end_lineno - 1] + node.end_col_offset

    def put(self, begin: int, end: int, other: str) -> None:
        start = self.source.rfind(b"\n", 0, begin) + 1
        stop = self.source.find(b"\n", end)
        head, tail = self.segment(start, begin), self.segment(end, stop)
        before, after = (" ".join((head + middle + tail).split()) for middle in (self.segment(begin, end), other))
        text = self.segment(0, begin) + other + self.segment(end, len(self.source))
        where = ".".join(self.scope) or "module"
        self.found.append(AstMutant(self.file, where, self.source.count(b"\n", 0, begin) + 1, before, after, text))

    def replace(self, node: ast.expr | ast.stmt, *others: str) -> None:
        for other in others:
            self.put(*self.span(node), other)

    def between(self, left: ast.expr, right: ast.expr, sign: str, other: str) -> None:
        """An operator has no position of its own."""
        begin, end = self.span(left)[1], self.span(right)[0]
        self.put(begin, end, self.segment(begin, end).replace(sign, other, 1))

    def text_of(self, node: ast.expr) -> str:
        return self.segment(*self.span(node))

    # What is left alone: what people read, types, and checks of what cannot be

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name not in OF_PEOPLE:
            self._inside(node.name, [*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body])

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._inside(node.name, node.body)

    def _inside(self, name: str, nodes: Iterable[ast.AST]) -> None:
        outer, self.scope = self.scope, (*self.scope, name)
        for node in nodes:
            self.visit(node)
        self.scope = outer

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Assert(self, node: ast.Assert) -> None:
        pass

    def visit_Raise(self, node: ast.Raise) -> None:
        pass

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        pass

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg not in FLAGS:
            self.generic_visit(node)

    # Expressions

    def visit_Compare(self, node: ast.Compare) -> None:
        for (left, right), operator in zip(pairwise([node.left, *node.comparators]), node.ops, strict=True):
            sign = SIGNS[type(operator)]
            self.between(left, right, sign, COMPARISONS[sign])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        sign = SIGNS[type(node.op)]
        for left, right in pairwise(node.values):
            self.between(left, right, sign, OPERATORS[sign])
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        sign = SIGNS.get(type(node.op), "")
        if sign in OPERATORS:
            self.between(node.left, node.right, sign, OPERATORS[sign])
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self.replace(node, f"({self.text_of(node.operand)})")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self.replace(node, str(not node.value))
        elif isinstance(node.value, int):
            self.replace(node, str(node.value + 1), str(node.value - 1))

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name):
            if node.func.id in ("min", "max"):
                self.replace(node.func, "max" if node.func.id == "min" else "min")
            if node.func.id == "range":
                self._one_off(node.args)
        self.generic_visit(node)

    def visit_Slice(self, node: ast.Slice) -> None:
        self._one_off([end for end in (node.lower, node.upper) if end is not None])
        self.generic_visit(node)

    def _one_off(self, ends: Iterable[ast.expr]) -> None:
        for end in ends:
            if not isinstance(end, ast.Constant):
                self.replace(end, f"{self.text_of(end)} + 1", f"{self.text_of(end)} - 1")

    # Conditions

    def _condition(self, test: ast.expr, *constants: str) -> None:
        if not isinstance(test, ast.Constant):
            self.replace(test, f"not ({self.text_of(test)})", *constants)

    def visit_If(self, node: ast.If) -> None:
        self._condition(node.test, "True", "False")
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._condition(node.test, "True", "False")
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self._condition(node.test, "False")
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._condition(test, "True", "False")
        self.generic_visit(node)

    # Statements

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is None:
            self.replace(node, "pass")
            return
        # None instead of another constant is None already, or as false.
        if not isinstance(node.value, ast.Constant):
            self.replace(node, "return None")
        if isinstance(node.value, ast.Compare | ast.BoolOp):
            self.replace(node.value, f"not ({self.text_of(node.value)})")
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if all(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets):
            self.replace(node, "pass")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.replace(node, "pass")
        sign = SIGNS.get(type(node.op), "")
        if sign in OPERATORS:
            self.between(node.target, node.value, sign, OPERATORS[sign])
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Yield | ast.YieldFrom):
            # A generator still.
            self.replace(node, "yield from ()")
        elif isinstance(node.value, ast.Call):
            self.replace(node, "pass")
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_Delete(self, node: ast.Delete) -> None:
        self.replace(node, "pass")
        self.generic_visit(node)

    def visit_Break(self, node: ast.Break) -> None:
        self.replace(node, "pass")

    def visit_Continue(self, node: ast.Continue) -> None:
        self.replace(node, "pass")


NO_PROTOCOL = ("fragments.py", "assembly.py")
"""They cut diagrams, and put cores together: faults in them are found by tests of diagrams and deployments, not by seeds."""


@cache
def mutants() -> tuple[AstMutant, ...]:
    """All that can be drawn; of those with one name, in the same words twice in one function, the first."""
    found: list[AstMutant] = []
    for path in sorted((PACKAGE / "dpc").glob("*.py")):
        if path.name in NO_PROTOCOL:
            continue
        source = path.read_bytes()
        _Finder(path.name, source, (), found).visit(ast.parse(source))
    return tuple({str(one): one for one in reversed(found)}.values())


def drawn(seed: int, count: int) -> list[AstMutant]:
    """By a hash of each name: a change of the source changes what is drawn there alone."""
    return sorted(mutants(), key=lambda one: hashlib.sha256(f"{seed} {one}".encode()).digest())[:count]
