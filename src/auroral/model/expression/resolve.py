"""From syntax to types: names are looked up, conversions made explicit, and all type errors collected."""

from __future__ import annotations

from dataclasses import replace

from auroral.model.errors import DiagramError, Problem, nearest, unknown_name
from auroral.model.expression import operators
from auroral.model.expression.builtins import BUILTINS, CONVERSIONS, Builtin
from auroral.model.expression.functions import Function, Functions, default_functions, packaged_function
from auroral.model.expression.implied import NULL, BareNull, Found, beside_singles, converted, padded, pair_types
from auroral.model.expression.problems import ExpressionError, NotRegistered, point, users_wrote
from auroral.model.expression.scope import Scope
from auroral.model.expression.sqlnames import judged
from auroral.model.expression.syntax import Arrow, Binary, Call, Expr, If, Literal, Name, Node, Unary
from auroral.model.expression.typed import (
    Choice,
    Constant,
    FieldRef,
    Infix,
    Invoke,
    Prefix,
    SqlExpression,
    Typed,
)
from auroral.model.packages import Kind as Offered
from auroral.model.packages import names_offered
from auroral.model.types import (
    BOOL,
    DOUBLE,
    INT,
    LONG,
    SINGLE,
    FieldType,
    Kind,
    string,
)


def resolve(expr: Expr | SqlExpression, scope: Scope, functions: Functions | None = None) -> Typed:
    """The typed tree of an expression. Raises one ExpressionError with all that is wrong in it.

    `functions` are the user's; by default those registered so far. Of an SqlExpression the names are looked up, and what
    cannot stand in a box is refused.
    """
    if isinstance(expr, SqlExpression):
        return judged(expr, scope)
    root = _found(expr, scope, default_functions() if functions is None else functions)
    assert root is not None and not isinstance(root, BareNull)  # or it was reported
    return root


def judge_without_fields(expr: Expr, functions: Functions) -> None:
    """Raise an ExpressionError if something is wrong with the expression whatever the fields are: a function that nobody knows, a
    text that is added to a number."""
    _found(expr, None, functions)


def _found(expr: Expr, scope: Scope | None, functions: Functions) -> Found:
    """Without a scope, any name may be a field, of any type."""
    resolver = _Resolver(scope, functions)
    root = resolver.visit(expr.root)
    if isinstance(root, BareNull):
        resolver.report(
            expr.root,
            "null alone has no type",
            allowed="values with a type",
            next_step="give it one, for example int(null)",
        )
    for found, error in ((resolver.problems, ExpressionError), (resolver.missing, NotRegistered)):
        if found:
            raise error(expr.text, (point(p, expr.text, at) for at, p in sorted(found, key=lambda one: one[0])))
    return root


class _Resolver:
    def __init__(self, scope: Scope | None, functions: Functions):
        self._scope, self._functions = scope, functions
        self.problems: list[tuple[int, Problem]] = []
        self.missing: list[tuple[int, Problem]] = []

    def report(self, node: Node, what: str, allowed: str, next_step: str) -> None:
        self.problems.append((node.at, Problem(what, allowed=allowed, next_step=next_step)))

    def visit(self, node: Node) -> Found:
        match node:
            case Literal():
                return self._literal(node)
            case Name():
                if self._scope is None:
                    return None
                found = self._scope.find(node)
                if isinstance(found, Problem):
                    self.problems.append((node.at, found))
                    return None
                return FieldRef(found[1], found[0], node.name)
            case Arrow():
                self.report(
                    node,
                    f"{node.array}->{node.name} reads an array, and arrays are not supported",
                    allowed="fields of scalar types",
                    next_step="make the elements rows or fields of their own before they enter",
                )
                return None
            case Unary():
                return self._unary(node)
            case Binary():
                sides = (self.visit(node.left), self.visit(node.right))
                return self._binary(node, *beside_singles((node.left, node.right), sides))
            case If():
                condition, branches = self.visit(node.condition), (self.visit(node.then), self.visit(node.otherwise))
                return self._choice(node, condition, *beside_singles((node.then, node.otherwise), branches))
            case Call():
                args: list[Found] = []
                for arg in node.args:
                    args.append(self.visit(arg))
                return self._call(node, beside_singles(node.args, args) if node.name in ("min", "max") else args)

    def _literal(self, node: Literal) -> Found:
        match node.value:
            case None:
                return NULL
            case bool():
                return Constant(BOOL, node.value)
            case int():
                return self._integer(node, node.value)
            case float():
                return Constant(SINGLE if node.suffix == "f" else DOUBLE, node.value)
            case str():
                return Constant(string(max(1, len(node.value))), node.value)

    def _integer(self, node: Node, value: int) -> Found:
        if not -(2**63) <= value < 2**63:
            self.report(node, "the integer is too large for a long", f"up to {2**63 - 1}", "write it as a float")
            return None
        return Constant(INT if -(2**31) <= value < 2**31 else LONG, value)

    def _unary(self, node: Unary) -> Found:
        literal = node.operand
        if node.op == "-" and isinstance(literal, Literal) and type(literal.value) is int:
            # The smallest long has no positive counterpart, so the sign belongs to the number.
            return self._integer(node, -literal.value)
        operand = self.visit(literal)
        if operand is None:
            return None
        if node.op == "not":
            if isinstance(operand, BareNull):
                return Constant(BOOL, None)
            if operand.type.kind is Kind.BOOL:
                return Prefix(BOOL, "not", operand)
            self.report(
                node,
                f"not takes a condition, not {_a(operand.type)}",
                allowed="a condition, of type bool",
                next_step="not binds tighter than any comparison: write not (a = b), with parentheses",
            )
            return None
        if isinstance(operand, BareNull) or not operand.type.is_numeric:
            what = "null" if isinstance(operand, BareNull) else _a(operand.type)
            self.report(
                node,
                f"the sign {node.op} takes a number, not {what}",
                allowed="numbers",
                next_step="convert it first, for example with double(x)",
            )
            return None
        operand = converted(operand, operators.promoted(operand.type))
        return operand if node.op == "+" else Prefix(operand.type, "-", operand)

    def _binary(self, node: Binary, left: Found, right: Found) -> Found:
        if left is None or right is None:
            return None
        if isinstance(left, BareNull) and isinstance(right, BareNull):
            if node.op in operators.LOGIC:
                return Constant(BOOL, None)
            self.report(
                node,
                f"null {node.op} null has no type",
                allowed="one side with a type",
                next_step="convert one, as in int(null)",
            )
            return None
        if node.op in operators.COMPARISONS and (isinstance(left, BareNull) or isinstance(right, BareNull)):
            self.report(
                node,
                f"{node.op} null never holds: null is neither equal nor unequal to anything",
                allowed="comparisons of two values",
                next_step="only Spark SQL finds nulls: in Python, write auroral.sql('x is null', 'bool')",
            )
            return None
        left_type, right_type = pair_types(left, right)
        operation = operators.binary(node.op, left_type, right_type)
        if operation is None:
            self._refuse(node, left_type, right_type)
            return None
        return Infix(operation.result, node.op, converted(left, operation.left), converted(right, operation.right))

    def _refuse(self, node: Binary, left: FieldType, right: FieldType) -> None:
        kinds, step = {left.kind, right.kind}, "convert one side, for example with double(x) or string(x)"
        what = f"{node.op} does not work between {_a(left)} and {_a(right)}"
        if kinds == {Kind.TIMESTAMP, Kind.STRING}:
            step = "compare timestamps with timestamps, or long(x) with microseconds since 1970"
        elif Kind.STRING in kinds and (left.is_numeric or right.is_numeric):
            step = "convert one side: string(x) for integers, double(x) or int(x) for text"
        elif kinds == {Kind.DECIMAL} or (Kind.DECIMAL in kinds and left.is_numeric and right.is_numeric):
            what, step = f"{what}: both together need more than 38 digits", "convert one side with double(x)"
        elif node.op in operators.COMPARISONS and any(_compares(side) for side in (node.left, node.right)):
            step = "compare twice: 1 < x < 3 is written 1 < x and x < 3"
        elif node.op in operators.LOGIC or Kind.BOOL in kinds:
            step = "comparisons bind tighter than and/or, and != looser than =: use parentheses"
        self.report(node, what, allowed="two values of types that the operator is for", next_step=step)

    def _choice(self, node: If, condition: Found, then: Found, otherwise: Found) -> Found:
        if isinstance(condition, BareNull):
            condition = Constant(BOOL, None)
        if condition is not None and condition.type.kind is not Kind.BOOL:
            self.report(
                node,
                f"if takes a condition, not {_a(condition.type)}",
                allowed="a condition, of type bool",
                next_step="compare it, as in x != 0",
            )
            return None
        if condition is None or then is None or otherwise is None:
            return None
        if isinstance(then, BareNull) and isinstance(otherwise, BareNull):
            return NULL
        left, right = pair_types(then, otherwise)
        common = operators.exact_common(left, right)
        if common is None:
            self.report(
                node,
                f"the branches of if have different types: {left} and {right}",
                allowed="branches of one type, or numbers",
                next_step="convert one, for example with double(x) or string(x)",
            )
            return None
        return Choice(common, condition, converted(then, common), converted(otherwise, common))

    def _call(self, node: Call, args: list[Found]) -> Found:
        builtin, user = BUILTINS.get(node.name), self._functions.get(node.name)
        try:
            taken = "built in" if builtin is not None else "registered by this program" if user is not None else None
            offered = packaged_function(node.name, taken)
        except DiagramError as error:
            self.problems += [(node.at, problem) for problem in error.problems]
            return None
        user = user or offered
        if builtin is None and user is None and users_wrote(node.name):
            self.missing.append((node.at, _not_built_in(node.name)))
        elif builtin is None and user is None:
            names = names_offered(Offered.FUNCTION, [*BUILTINS, *self._functions])
            problem = unknown_name("function", node.name, names)
            if nearest(node.name, names) is None:
                problem = replace(problem, next_step="register your own with auroral's register_function")
            self.problems.append((node.at, problem))
        known = [arg for arg in args if arg is not None]
        if len(known) < len(args):
            return None
        if builtin is not None:
            return self._builtin(node, builtin, known)
        return self._user(node, user, known) if user is not None else None

    def _builtin(self, node: Call, builtin: Builtin, args: list[Typed | BareNull]) -> Found:
        given = [None if isinstance(arg, BareNull) else arg.type for arg in args]
        signature = builtin.rule(given)
        if isinstance(signature, str):
            self._wrong_arguments(node, f"{node.name} {signature}", given, builtin.usage)
            return None
        ready = tuple(converted(arg, want) for arg, want in zip(args, signature.args, strict=True))
        if builtin.name in CONVERSIONS:
            return converted(ready[0], signature.result)
        result = signature.result
        if builtin.name == "pad":
            result = padded(ready[0], ready[1], result)
        return Invoke(result, builtin.name, ready)

    def _user(self, node: Call, user: Function, args: list[Typed | BareNull]) -> Found:
        given = [None if isinstance(arg, BareNull) else arg.type for arg in args]
        fits = len(given) == len(user.args) and all(map(operators.accepts, given, user.args))
        if not fits:
            wanted = ", ".join(str(arg) for arg in user.args)
            self._wrong_arguments(node, f"{node.name} takes ({wanted})", given, str(user))
            return None
        ready = tuple(converted(arg, want) for arg, want in zip(args, user.args, strict=True))
        return Invoke(user.returns, user.name, ready, user)

    def _wrong_arguments(self, node: Call, what: str, given: list[FieldType | None], usage: str) -> None:
        shown = ", ".join("null" if have is None else str(have) for have in given)
        self.report(
            node, f"{what}; given is ({shown})", allowed=usage, next_step="convert the arguments, or leave some out"
        )


def _not_built_in(name: str) -> Problem:
    return Problem(
        f"the function {name!r} is not built in: users of Borealis wrote it, or one of its modules has it",
        allowed="built-in functions, and those that are registered",
        next_step=f'register one of that name: auroral.register_function("{name}", f, "int", "int"), in a file for --functions',
    )


def _compares(node: Node) -> bool:
    return isinstance(node, Binary) and node.op in operators.COMPARISONS


def _a(given: FieldType) -> str:
    return f"{'an' if given.kind is Kind.INT else 'a'} {given}"
