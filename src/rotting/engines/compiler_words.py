"""What the compiler says of code that it refuses, in plain words."""

import re

_CREATED = "nothing may be created in compiled code, neither arrays nor lists nor texts"
_DICT = r"DictType|build_map|typed[./]typeddict|typed/dictobject|[Dd]ict\["
_CAUSES = [
    (r">>> setitem\(readonly ", "an array of a module must not be written to: what changes belongs into the state"),
    (r"Unsupported array index type (\w+)", "an index must be a whole number, got {0}"),
    (_DICT, "a dict is not allowed in compiled code"),
    (r"Unknown attribute '(\w+)' of type (\w+)", "{1} has no {0}"),
    (r"Cannot unify (.+?) and (.+?) for '(\w+)", "{2} must keep its type, got {0} and {1}"),
    (r"NRT required|Only accept returning of array|format spec in f-strings", _CREATED),
    (r"Use of unsupported NumPy function '([\w.]+)'", "{0} is not allowed in compiled code"),
    (r"Untyped global name '(\w+)'", "{0} is not allowed in compiled code"),
    (r"Cannot bind '.*' to signature '(\(.*?\))(?: -> .*)?' due", "the function that is called takes {0}"),
    (r"module '([\w.]+)' has no attribute '(\w+)'", "{0} has no {1}"),
    (r"Illegal IR, del found", "`del` is not allowed in compiled code"),
    (r">>> exception_match\(", "only `except Exception` is allowed in compiled code"),
]
_TYPES = {"unicode_type": "str", "none": "None", "boolean": "bool", "OptionalType": "number or None", "reflected": "list"}
_OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}  # fmt: skip


def is_about_a_dict(text: str) -> bool:
    """Tell whether the compiler stumbled over a dict."""
    return re.search(_DICT, text) is not None


def cause(text: str) -> str:
    """Return what is wrong, in a few plain words.

    Example:
        >>> cause("No implementation of function ... >>> add(int64, Literal[str](a))")
        'int + str is not allowed in compiled code'
        >>> cause("No implementation of function ... >>> setitem(array(float64, 1d, C), int64, unicode_type)")
        'str cannot be written into array'
    """
    for pattern, words in _CAUSES:
        found = re.search(pattern, text)
        if found is not None:
            return words.format(*map(type_name, found.groups()))
    call = re.search(r">>> (\w+)\((.*)\)", text)
    if call is not None:
        return _refused_call(call[1], [type_name(each) for each in _split(call[2])])
    lines = [line.strip() for line in text.splitlines()]
    said = next((line for line in lines if line and not line.startswith("Failed in")), "it cannot be compiled")
    return said.partition(" Raised from ")[0].rstrip(".")


def _refused_call(name: str, types: list[str]) -> str:
    operator = _OPERATORS.get(name) or _OPERATORS.get(name.removeprefix("i"))
    if name == "setitem":
        return f"{types[-1]} cannot be written into {types[0]}"
    if name == "getitem":
        return f"{types[0]} cannot be indexed by {types[1]}"
    if operator is not None and len(types) == 2:
        return f"{types[0]} {operator} {types[1]} is not allowed in compiled code"
    return f"{name}({', '.join(types)}) is not allowed in compiled code"


def type_name(text: str) -> str:
    """Return the compiler's name of a type as people write it; other text stays.

    Example:
        >>> [type_name(each) for each in ("array(float64, 1d, C)", "Literal[int](3)", "float64", "State(int64 x 2)")]
        ['array', 'int', 'float', 'State']
    """
    literal = re.match(r"Literal\[(\w+)\]", text)
    name = literal[1] if literal else text.strip()
    name = re.sub(r"^(\w+)[(<\[ ].*", r"\1", name)
    name = re.sub(r"^u?(int|float)\d+$", r"\1", name)
    return _TYPES.get(name, name)


def _split(text: str) -> list[str]:
    """Return the arguments of a call, whose own commas stay."""
    parts, depth = [""], 0
    for each in text:
        depth += (each in "([<") - (each in ")]>")
        if each == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += each
    return [each.strip() for each in parts if each.strip()]
