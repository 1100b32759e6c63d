"""The small changes: found in the syntax tree and made in the text, so that all other lines stay as and where they are."""

import ast
import re
from pathlib import PurePath
from typing import NamedTuple

COMPARISONS = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: (r"is\s+not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: (r"not\s+in", "in"),
}
ARITHMETIC = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "//"),
    ast.Pow: ("**", "*"),
    ast.MatMult: ("@", "*"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.BitXor: ("^", "&"),
}
TWINS = dict(
    pair
    for one, other in (("min", "max"), ("minimum", "maximum"), ("argmin", "argmax"), ("any", "all"), ("floor", "ceil"))
    for pair in ((one, other), (other, one))
)
"""Functions that are easily mistaken for each other."""
NEGATED = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)
"""Comparisons whose change is their negation."""
OF_TYPES = {"isinstance", "issubclass", "cast", "TypeVar", "ParamSpec"}
"""Functions whose arguments speak of types."""


class Mutant(NamedTuple):
    """One change of one file."""

    path: str
    """Of the file, from the root of the repository."""
    line: int
    column: int
    operator: str
    """The kind of change."""
    scope: str
    """The module's last name and the function's name: where the line is, however far it moves."""
    before: str
    """The changed lines, as they are."""
    after: str
    start: int
    """The bytes that are replaced, and what by."""
    end: int
    text: str
    first: int
    """A test that executes one of the lines from `first` to `last` executes the change."""
    last: int

    @property
    def id(self) -> str:
        """The mutant's name, stable while the file is."""
        return f"{self.path}:{self.line}:{self.column}:{self.operator}"

    def applied(self, source: str) -> str:
        """Return the file's text with the change in it."""
        data = source.encode()
        return (data[: self.start] + self.text.encode() + data[self.end :]).decode()


def mutants(path: str, source: str) -> list[Mutant]:
    r"""Return every mutant of one file, in the order of its lines; those that do not compile are left out.

    Example:
        >>> [each.after for each in mutants("two.py", "def twice(x):\n    return 2 * x\n")]
        ['return 3 * x', 'return 2 / x']
    """
    finder = _Finder(path, source)
    finder.visit(ast.parse(source))
    return sorted(filter(lambda each: _compiles(each.applied(source)), finder.found), key=lambda each: (each.line, each.column))


def _compiles(source: str) -> bool:
    try:
        compile(source, "mutant", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


class _Finder(ast.NodeVisitor):
    def __init__(self, path: str, source: str) -> None:
        self.found: list[Mutant] = []
        self._path, self._data = path, source.encode()
        self._lines = self._data.splitlines(keepends=True)
        self._starts = [0]
        for each in self._lines:
            self._starts.append(self._starts[-1] + len(each))
        parts = PurePath(path).with_suffix("").parts
        self._scope = [parts[-2] if parts[-1] == "__init__" else parts[-1]]
        self._reach = self._everywhere = (1, len(self._lines))
        self._in_function = False

    # --- Making a change ------------------------------------------------------------------------------------------------------

    def _span(self, node: ast.AST) -> tuple[int, int]:
        line, column = node.lineno, node.col_offset  # type: ignore[attr-defined]
        end_line, end_column = node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
        return self._starts[line - 1] + column, self._starts[end_line - 1] + end_column

    def _replace(self, operator: str, start: int, end: int, text: str) -> None:
        line = sum(each <= start for each in self._starts)
        last = sum(each < end for each in self._starts)
        head, tail = self._data[self._starts[line - 1] : start], self._data[end : self._starts[last]]
        before, after = (" ".join((head + middle + tail).decode().split()) for middle in (self._data[start:end], text.encode()))
        scope = ".".join(self._scope)
        place = (self._path, line, start - self._starts[line - 1])
        self.found.append(Mutant(*place, operator, scope, before, after, start, end, text, *self._reach))

    def _replace_node(self, operator: str, node: ast.AST, text: str) -> None:
        start, end = self._span(node)
        newlines = self._data[start:end].count(b"\n") - text.count("\n")
        self._replace(operator, start, end, text + "\n" * newlines)

    def _between(self, left: ast.AST, right: ast.AST, pattern: str) -> tuple[int, int]:
        start, end = self._span(left)[1], self._span(right)[0]
        between = re.sub(rb"#[^\n]*", lambda comment: b" " * len(comment[0]), self._data[start:end])
        found = re.search(pattern.encode(), between)
        assert found is not None
        return start + found.start(), start + found.end()

    def _wrapped(self, node: ast.AST, start: int, end: int, text: str) -> str:
        """The node with `text` from `start` to `end`, in brackets: another operator may bind less tightly."""
        first, last = self._span(node)
        return f"({self._data[first:start].decode()}{text}{self._data[end:last].decode()})"

    def _negate(self, test: ast.expr) -> None:
        if isinstance(test, ast.Constant) or (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)):
            return
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], NEGATED):
            return
        start, end = self._span(test)
        self._replace_node("negate", test, f"(not ({self._data[start:end].decode()}))")

    # --- Where no change is made, and which lines reach one -------------------------------------------------------------------

    def _body(self, body: list[ast.stmt]) -> None:
        for each in body:
            if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)):  # a docstring
                self.visit(each)

    def visit(self, node: ast.AST) -> None:
        """Visit a node; what stands in a function is reached by its own lines, all else by any line of the module."""
        before = self._reach
        if self._in_function and isinstance(node, ast.stmt):
            head: ast.AST = node
            if isinstance(node, (ast.If, ast.While)):
                head = node.test
            elif isinstance(node, ast.For):
                head = node.iter
            self._reach = head.lineno, head.end_lineno or head.lineno  # type: ignore[attr-defined]
        super().visit(node)
        self._reach = before

    def visit_Module(self, node: ast.Module) -> None:
        self._body(node.body)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._scope.append(node.name)
        self._body(node.body)
        self._scope.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        before = self._reach, self._in_function
        self._scope.append(node.name)
        self._reach, self._in_function = (node.body[0].lineno, node.end_lineno or node.lineno), True
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        self._body(node.body)
        self._scope.pop()
        self._reach, self._in_function = before

    def visit_Raise(self, node: ast.Raise) -> None:
        """A message says what it says."""

    def visit_Assert(self, node: ast.Assert) -> None:
        """An assertion is for the reader and for the types."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Text."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            if self._in_function and not isinstance(node.target, ast.Name):
                self._replace_node("drop", node, "pass")
            self.visit(node.value)

    # --- The changes ----------------------------------------------------------------------------------------------------------

    def visit_If(self, node: ast.If) -> None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        self._negate(node.test)
        self.visit(node.test)
        self._body(node.body)
        self._body(node.orelse)

    def visit_While(self, node: ast.While) -> None:
        if not isinstance(node.test, ast.Constant):
            self._negate(node.test)
            self.visit(node.test)
        self._body(node.body)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._negate(test)
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if self._in_function and isinstance(node.value, ast.Call):
            self._replace_node("drop", node, "pass")
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        # Without the name's only assignment nothing runs at all: that would be no test of the tests.
        if self._in_function and not any(isinstance(each, (ast.Name, ast.Tuple)) for each in node.targets):
            self._replace_node("drop", node, "pass")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._replace_node("drop", node, "pass")
        old, new = ARITHMETIC[type(node.op)]
        start, end = self._between(node.target, node.value, re.escape(old) + "=")
        self._replace("augmented", start, end, new + "=")
        self.generic_visit(node)

    def visit_Break(self, node: ast.Break) -> None:
        self._replace_node("break", node, "continue")

    def visit_Continue(self, node: ast.Continue) -> None:
        self._replace_node("continue", node, "break")

    def visit_Compare(self, node: ast.Compare) -> None:
        for left, op, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
            old, new = COMPARISONS[type(op)]
            start, end = self._between(left, right, old)
            self._replace("compare", start, end, new)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        old, new = ARITHMETIC[type(node.op)]
        start, end = self._between(node.left, node.right, re.escape(old))
        if isinstance(node.op, (ast.Pow, ast.BitAnd, ast.BitOr, ast.BitXor)):
            self._replace_node("arithmetic", node, self._wrapped(node, start, end, new))
        else:
            self._replace("arithmetic", start, end, new)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        start, end = self._between(node.values[-2], node.values[-1], rf"\b{old}\b")
        self._replace_node("boolean", node, self._wrapped(node, start, end, new))
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, (ast.Not, ast.USub)):
            start, end = self._span(node.operand)
            self._replace_node("unary", node, f"({self._data[start:end].decode()})")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if name in OF_TYPES:
            return
        if name in TWINS:
            end = self._span(node.func)[1]
            self._replace("twin", end - len(name), end, TWINS[name])
        if name == "range":
            self._off_by_one("range", node.args[min(1, len(node.args) - 1)], "-")
        self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg not in {"stacklevel", "strict"}:  # they speak to the developer
            self.generic_visit(node)

    def visit_Slice(self, node: ast.Slice) -> None:
        for bound in (node.lower, node.upper):
            if bound is not None and not isinstance(bound, (ast.Constant, ast.UnaryOp)):
                self._off_by_one("slice", bound, "+")
        self.generic_visit(node)

    def _off_by_one(self, operator: str, node: ast.expr, sign: str) -> None:
        if not isinstance(node, ast.Starred):
            start, end = self._span(node)
            self._replace_node(operator, node, f"({self._data[start:end].decode()} {sign} 1)")

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._replace_node("constant", node, str(not node.value))
        elif isinstance(node.value, int):
            self._replace_node("constant", node, str(node.value + 1))
        elif isinstance(node.value, float):
            self._replace_node("constant", node, repr(node.value * 1.01 if node.value else 1.0))
