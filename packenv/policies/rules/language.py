"""The language of rules: what `priority(task, server, cluster)` may contain.

A file with anything else is refused, and none is ever executed. The function is read as a tree and checked against a list:
arithmetic, comparisons, `if`, `for` over a range, variables, the functions in FUNCTIONS, helpers above it in the file, and the
parts of its three arguments in ATTRIBUTES and METHODS. It has no access to files, to modules, or to facts that a scheduler does
not know, so it can be compiled and run in any process. Arguments after `cluster` are constants with default values. A policy's
parameters may replace them.
"""

from __future__ import annotations

import ast
import functools
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, NoReturn

from packenv.content.text import listed
from packenv.errors import InputError, nearest
from packenv.inputs.text_files import read_text, reading

OBJECTS = ("task", "server", "cluster")
ATTRIBUTES = {
    "task": (
        *("size", "age", "job_age", "job_left", "job_in_service", "job_work", "phase_left", "path", "estimate", "distance"),
        *("devices", "device_share"),
    ),
    "server": (*("room", "capacity", "jobs", "index", "kind", "devices", "free_devices", "device_room", "device_left"),),
    "cluster": ("servers", "resources", "waiting", "waiting_size", "in_service", "free"),
}
VECTORS = {"task": ("demand",), "server": ("free", "capacities")}
"""What is asked for one resource at a time: `task.demand[r]`."""
METHODS = {"cluster": {"waiting_between": 2, "room_after": 2}}
"""Functions of the cluster, with the number of their arguments."""
FUNCTIONS = ("abs", "min", "max", "int", "float", "round")
MATHEMATICS = ("sqrt", "log", "log2", "log10", "log1p", "exp", "expm1", "sin", "cos", "tan", "tanh", "floor", "ceil", "pow")
MODULES = ("math", "np", "numpy")
MOST_CHARACTERS, MOST_NODES, MOST_ROUNDS, MOST_NESTED, LARGEST = 50_000, 5_000, 1_000, 2, 2**53

STATEMENTS = (ast.Return, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.If, ast.For, ast.Pass, ast.Break, ast.Continue)
OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.USub, ast.UAdd, ast.Not, ast.And, ast.Or)
ARITHMETIC: dict[type[ast.operator], Callable[[float, float], float]] = {
    **{ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul},
    ast.Div: lambda a, b: a / b if b else math.inf,
}
COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The arguments of a rule, and what it may read of each: numbers, numbers by resource, functions with their arguments."""

    objects: tuple[str, ...]
    attributes: dict[str, tuple[str, ...]]
    vectors: dict[str, tuple[str, ...]] = field(default_factory=dict)
    methods: dict[str, dict[str, int]] = field(default_factory=dict)


TASKS = Vocabulary(OBJECTS, ATTRIBUTES, VECTORS, METHODS)


class Rule(NamedTuple):
    """A checked function for the compiler: constants, helpers, itself."""

    tree: ast.Module  # all functions have the vocabulary's objects, and view, as arguments before their own
    reads: frozenset[str]  # `task.age`, `cluster.room_after`, …
    parameters: dict[str, float]  # arguments behind `cluster`, with their defaults
    about: str  # the first line of its docstring


def read_rule(file: str, function: str) -> tuple[str, Rule]:
    """Return the text of a file, and its rule, or raise InputError."""
    with reading(file):
        source = read_text(Path(file))
    return source, checked(source, file, function)


@functools.lru_cache(256)
def checked(source: str, file: str, name: str = "priority", vocabulary: Vocabulary = TASKS) -> Rule:
    """Return the rule `name` in a file's text. InputError names file:line."""
    if len(source) > MOST_CHARACTERS:
        raise InputError(f"{file}: a rule has at most {MOST_CHARACTERS:,} characters, not {len(source):,}")
    try:
        tree = ast.parse(source, file)
        if sum(1 for _ in ast.walk(tree)) > MOST_NODES:
            raise InputError(f"{file}: the rule is too long: more than {MOST_NODES:,} names, numbers and operations")
        return _Checker(file, name, vocabulary).rule(tree)
    except SyntaxError as error:
        raise InputError(f"{file}:{error.lineno or 1}: {error.msg}") from None
    except (RecursionError, MemoryError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{file}: this cannot be read as Python: {error}") from None


class _Checker(ast.NodeTransformer):
    """Checks a file's tree, and rewrites it for the compiler."""

    def __init__(self, file: str, name: str, vocabulary: Vocabulary) -> None:
        self.file, self.name = file, name
        self.objects, self.attributes = vocabulary.objects, vocabulary.attributes
        self.vectors, self.methods = vocabulary.vectors, vocabulary.methods
        path = Path(file).with_suffix("")
        self.module = path.name if path.is_absolute() else ".".join(path.parts)  # as Python imports it
        self.constants: dict[str, float] = {}
        self.helpers: dict[str, list[str]] = {}  # arguments of each function so far
        self.reads: set[str] = set()
        self.locals: set[str] = set()  # names that some line of the function assigns,
        self.known: set[str] = set()  # and those that have a value on every way to the line at hand
        self.modules: set[str] = set(MODULES)
        self.parameters: dict[str, float] = {}
        self.loops = 0

    def refuse(self, node: ast.AST, problem: str) -> NoReturn:
        raise InputError(f"{self.file}:{getattr(node, 'lineno', 1)}: {problem}")

    def rule(self, tree: ast.Module) -> Rule:
        body: list[ast.stmt] = []
        about = ""
        named = [node for node in tree.body if getattr(node, "name", None) == self.name]
        if not named:
            call = f"{self.name}({', '.join(self.objects)})"
            classes = [f"; a policy's class is named {self.module}:{node.name}" for node in _policies(tree)]
            raise InputError(f"{self.file}: there is no function {call} in it{''.join(classes[:1])}")
        if isinstance(named[0], ast.ClassDef):
            how = f"name it {self.module}:{self.name}, and it is run"
            self.refuse(named[0], f"{self.name} is a class, not a function that is only read: {how}")
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                if node.name in self.helpers or node.name in self.constants:
                    self.refuse(node, f"{node.name} is defined twice")
                if node.name == self.name:
                    about = (ast.get_docstring(node) or "").split("\n")[0]
                body.append(self.function(node))
            elif _is_text(node):
                continue
            elif isinstance(node, ast.Import | ast.ImportFrom):
                self.take_import(node)
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                body.append(self.constant(node))
            else:
                self.refuse(node, "a rule's file has functions, constants, and imports of math and numpy alone")
        return Rule(ast.fix_missing_locations(ast.Module(body, [])), frozenset(self.reads), self.parameters, about)

    def take_import(self, node: ast.Import | ast.ImportFrom) -> None:
        """Accept, but do not import, `math`, `numpy as np` and `typing.Any`."""
        if isinstance(node, ast.ImportFrom):
            if node.module in ("__future__", "typing") or (
                node.module in MODULES and all(alias.name in MATHEMATICS and alias.asname is None for alias in node.names)
            ):
                return
            self.refuse(node, f"a rule imports nothing but math, numpy and their {', '.join(MATHEMATICS)}")
        for alias in node.names:
            if alias.name not in ("math", "numpy"):
                self.refuse(node, f"a rule imports nothing but math and numpy, not {alias.name}")
            self.modules.add(alias.asname or alias.name)

    def constant(self, node: ast.Assign | ast.AnnAssign) -> ast.stmt:
        target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else getattr(node, "target", None)
        if not isinstance(target, ast.Name) or node.value is None:
            self.refuse(node, "outside of functions stand constants alone: NAME = number")
        value = self.number(node.value)
        self.new_name(target, target.id)
        self.constants[target.id] = value
        return ast.copy_location(ast.Assign([ast.Name(target.id, ast.Store())], ast.Constant(value)), node)

    def number(self, node: ast.expr) -> float:
        """Return the value of a number, or of arithmetic with earlier constants."""
        if isinstance(node, ast.Constant):
            self.visit_Constant(node)
            return node.value  # type: ignore[return-value]
        if isinstance(node, ast.Name) and node.id in self.constants:
            return self.constants[node.id]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self.number(node.operand)
        if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
            value = ARITHMETIC[type(node.op)](self.number(node.left), self.number(node.right))
            if abs(value) <= LARGEST:
                return value
        return self.refuse(node, "a constant must be a number")

    def new_name(self, node: ast.AST, name: str) -> None:
        if name.startswith("__") or name in {
            *self.objects,
            "view",
            "range",
            *FUNCTIONS,
            *MATHEMATICS,
            *self.modules,
            *self.helpers,
        }:
            self.refuse(node, f"{name} is the name of something else")

    def function(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Check a function, and give it the common arguments."""
        self.new_name(node, node.name)
        arguments = node.args
        if (
            arguments.posonlyargs
            or arguments.kwonlyargs
            or arguments.vararg
            or arguments.kwarg
            or node.decorator_list
            or getattr(node, "type_params", None)
        ):
            self.refuse(node, "functions have plain arguments alone, and no decorators")
        names = [argument.arg for argument in arguments.args]
        if arguments.defaults and node.name != self.name:
            self.refuse(node, f"only {self.name} may have arguments with default values")
        for argument in (argument for argument in arguments.args if argument.arg not in self.objects):
            self.new_name(argument, argument.arg)
        self.helpers[node.name] = names
        self.here = {name for name in names if name in self.objects}
        self.locals = {name for name in names if name not in self.objects}
        self.known = set(self.locals)
        self.current = node.name
        for part in ast.walk(node):  # names that any line assigns
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                self.new_name(part, part.id)
                self.locals.add(part.id)
        body = [self.statement(line) for line in node.body]
        if not self.always_returns(node.body):
            self.refuse(node, f"{node.name} does not return a number on every way through it")
        parameters = [name for name in names if name not in self.objects]
        if node.name == self.name:
            body, parameters = [*self.own_parameters(node, parameters), *body], []
        node.args = ast.arguments([], [ast.arg(name) for name in (*self.objects, "view", *parameters)], None, [], [], None, [])
        node.body, node.returns = body, None
        return node

    def own_parameters(self, node: ast.FunctionDef, names: list[str]) -> list[ast.stmt]:
        """Return lines that set the rule's arguments from the view."""
        if self.helpers[node.name][: len(self.objects)] != [*self.objects]:
            self.refuse(node, f"the arguments of {node.name} must be {', '.join(self.objects)}")
        if len(node.args.defaults) < len(names):
            self.refuse(node, f"the arguments of {node.name} behind {self.objects[-1]} must have default values")
        values = node.args.defaults[len(node.args.defaults) - len(names) :]
        self.parameters = {name: float(self.number(value)) for name, value in zip(names, values, strict=True)}
        return ast.parse("\n".join(f"{name} = view.parameters[{k}]" for k, name in enumerate(names))).body

    def always_returns(self, body: list[ast.stmt]) -> bool:
        last = body[-1] if body else None
        if isinstance(last, ast.If):
            return self.always_returns(last.body) and self.always_returns(last.orelse)
        return isinstance(last, ast.Return)

    def statement(self, node: ast.stmt) -> ast.stmt:
        if _is_text(node):
            return ast.copy_location(ast.Pass(), node)
        if not isinstance(node, STATEMENTS):
            self.refuse(node, f"a rule cannot use {_named(node)}")
        if isinstance(node, ast.Return) and node.value is None:
            self.refuse(node, f"{self.current} must return a number")
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            return self.assignment(node)
        if isinstance(node, ast.For):
            return self.loop(node)
        if isinstance(node, ast.If):
            test, before = self.visit(node.test), set(self.known)
            body, after = [self.statement(line) for line in node.body], self.known
            self.known = before
            otherwise = [self.statement(line) for line in node.orelse]
            self.known = self.known if _leaves(node.body) else after if _leaves(node.orelse) else self.known & after
            return ast.copy_location(ast.If(test, body, otherwise), node)
        if isinstance(node, ast.Return) and node.value is not None:
            return ast.copy_location(ast.Return(self.visit(node.value)), node)
        return node

    def assignment(self, node: ast.Assign | ast.AugAssign | ast.AnnAssign) -> ast.stmt:
        targets: list[ast.expr] = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            parts = target.elts if isinstance(target, ast.Tuple) else [target]
            if not all(isinstance(part, ast.Name) for part in parts):
                self.refuse(node, "a rule assigns to names alone")
        if node.value is None:
            self.refuse(node, "a name gets a value where it is first written")
        if isinstance(node, ast.AugAssign):
            self.check_operator(node, node.op)
            self.visit(ast.copy_location(ast.Name(ast.unparse(node.target), ast.Load()), node))
            return ast.copy_location(ast.AugAssign(node.target, node.op, self.visit(node.value)), node)
        if isinstance(targets[0], ast.Tuple):
            if len(targets) > 1 or not isinstance(node.value, ast.Tuple) or len(node.value.elts) != len(targets[0].elts):
                self.refuse(node, "the same number of values and names: a, b = x, y")
            value: ast.expr = ast.copy_location(ast.Tuple([self.visit(part) for part in node.value.elts], ast.Load()), node)
        else:
            value = self.visit(node.value)
        self.known.update(part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name))
        return ast.copy_location(ast.Assign(targets, value), node)

    def loop(self, node: ast.For) -> ast.stmt:
        rounds = node.iter
        if not isinstance(rounds, ast.Call) or ast.unparse(rounds.func) != "range":
            self.refuse(node, "loops are of the form: for name in range(…)")
        if not isinstance(node.target, ast.Name) or node.orelse:
            self.refuse(node, "loops are of the form: for name in range(…), without else")
        if not 1 <= len(rounds.args) <= 2 or rounds.keywords:
            self.refuse(node, "range takes one or two numbers")
        self.loops += 1
        if self.loops > MOST_NESTED:
            self.refuse(node, f"at most {MOST_NESTED} loops inside each other")
        first, end = [ast.Constant(0), *rounds.args][-2:]
        call = ast.Call(ast.Name("_rounds", ast.Load()), [self.visit(first), self.visit(end)], [])
        bounded = ast.Call(rounds.func, [self.visit(first), call], [])
        before = set(self.known)
        self.known.add(node.target.id)
        body = [self.statement(line) for line in node.body]
        self.known = before  # the loop may have no rounds
        self.loops -= 1
        return ast.copy_location(ast.For(node.target, bounded, body, []), node)

    def check_operator(self, node: ast.AST, sign: ast.AST) -> None:
        if not isinstance(sign, OPERATORS):
            self.refuse(node, f"a rule cannot use {_named(sign)}")

    # expressions

    def generic_visit(self, node: ast.AST) -> ast.AST:
        self.refuse(node, f"a rule cannot use {_named(node)}")

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if not isinstance(node.value, int | float) or not abs(node.value) <= LARGEST:
            self.refuse(node, f"{ast.unparse(node)[:40]} is not a number up to 2^53")
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.check_operator(node, node.op)
        return ast.copy_location(ast.BinOp(self.visit(node.left), node.op, self.visit(node.right)), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.check_operator(node, node.op)
        return ast.copy_location(ast.UnaryOp(node.op, self.visit(node.operand)), node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        return ast.copy_location(ast.BoolOp(node.op, [self.visit(value) for value in node.values]), node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        return ast.copy_location(ast.IfExp(self.visit(node.test), self.visit(node.body), self.visit(node.orelse)), node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        for sign in node.ops:
            if not isinstance(sign, COMPARISONS):
                self.refuse(node, f"a rule cannot use {_named(sign)}")
        return ast.copy_location(
            ast.Compare(self.visit(node.left), node.ops, [self.visit(part) for part in node.comparators]), node
        )

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self.objects:
            self.refuse(node, f"use one of the numbers of {node.id}: {', '.join(self.attributes[node.id])}")
        if node.id not in self.locals and node.id not in self.constants:
            names = sorted({*self.locals, *self.constants})
            self.refuse(node, f"no number is called {node.id}{nearest(node.id, names) if names else ''}")
        if node.id in self.locals and node.id not in self.known:
            self.refuse(node, f"{node.id} has no value on some way to this line")
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        owner = self.owner(node)
        if node.attr in self.vectors.get(owner, ()):
            self.refuse(node, f"{owner}.{node.attr} is of one resource: {owner}.{node.attr}[0]")
        if node.attr in self.methods.get(owner, {}):
            self.refuse(node, f"{owner}.{node.attr} is a function: {owner}.{node.attr}(…)")
        if node.attr not in self.attributes[owner]:
            known = [*self.attributes[owner], *self.vectors.get(owner, ()), *self.methods.get(owner, {})]
            self.refuse(node, f"{owner} has no {node.attr}{nearest(node.attr, known)}")
        self.reads.add(f"{owner}.{node.attr}")
        return node

    def owner(self, node: ast.Attribute) -> str:
        if not isinstance(node.value, ast.Name) or node.value.id not in self.objects:
            self.refuse(node, f"a rule can use .{node.attr} only of {listed(self.objects)}")
        if node.value.id not in self.here:
            self.refuse(node, f"{self.current} has no argument {node.value.id}")
        return node.value.id

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if not isinstance(node.value, ast.Attribute) or node.value.attr not in self.vectors.get(self.owner(node.value), ()):
            vectors = [f"{name}.{key}" for name, keys in self.vectors.items() for key in keys]
            where = f"square brackets go with {listed(vectors)} alone" if vectors else "a rule cannot use square brackets"
            self.refuse(node, where)
        owner, name = self.owner(node.value), node.value.attr
        self.reads.add(f"{owner}.{name}")
        place = ast.Attribute(ast.Name("view", ast.Load()), f"{owner}_{name}", ast.Load())
        return ast.copy_location(ast.Call(ast.Name("_of_resource", ast.Load()), [place, self.visit(node.slice)], []), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            self.refuse(node, "arguments are given by their places")
        name, arguments = "", node.args
        if isinstance(node.func, ast.Name):
            name = node.func.id
            if name in self.helpers and name != self.current:
                return self.helper_call(node, name)
        elif isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            module, name = node.func.value.id, node.func.attr
            if module in self.objects:
                return self.method_call(node, self.owner(node.func), name)
            if module not in self.modules:
                name = ""
        if name not in FUNCTIONS and name not in MATHEMATICS and name not in ("minimum", "maximum"):
            known = (*FUNCTIONS, *MATHEMATICS)
            self.refuse(node, f"a rule cannot call {ast.unparse(node.func)[:40]}{nearest(name, known)}")
        least = 2 if name in ("min", "max", "minimum", "maximum", "pow") else 1
        if len(arguments) < least or (least == 1 and len(arguments) > 1) or (name == "pow" and len(arguments) > 2):
            self.refuse(
                node, f"{name} takes {'one number' if least == 1 else 'two numbers'}{' or more' if name[:1] == 'm' else ''}"
            )
        name = {"minimum": "min", "maximum": "max"}.get(name, name)
        return ast.copy_location(ast.Call(ast.Name(f"_{name}", ast.Load()), [self.visit(part) for part in arguments], []), node)

    def helper_call(self, node: ast.Call, name: str) -> ast.AST:
        expected = self.helpers[name]
        if len(node.args) != len(expected):
            self.refuse(node, f"{name} takes {len(expected)} arguments, not {len(node.args)}")
        arguments = []
        for argument, value in zip(expected, node.args, strict=True):
            if argument not in self.objects:
                arguments.append(self.visit(value))
            elif not isinstance(value, ast.Name) or value.id != argument or argument not in self.here:
                self.refuse(node, f"{name} must be given its {argument} as {argument}")
        shared = [ast.Name(part, ast.Load()) for part in (*self.objects, "view")]
        return ast.copy_location(ast.Call(ast.Name(name, ast.Load()), [*shared, *arguments], []), node)

    def method_call(self, node: ast.Call, owner: str, name: str) -> ast.AST:
        methods = self.methods.get(owner, {})
        if name not in methods:
            functions = sorted({*methods, *(function for others in self.methods.values() for function in others)})
            self.refuse(node, f"{owner} has no function {name}{nearest(name, functions) if functions else ''}")
        if len(node.args) != methods[name]:
            self.refuse(node, f"{owner}.{name} takes {methods[name]} numbers, not {len(node.args)}")
        self.reads.add(f"{owner}.{name}")
        arguments = [ast.Name("view", ast.Load()), *(self.visit(part) for part in node.args)]
        return ast.copy_location(ast.Call(ast.Name(f"_{name}", ast.Load()), arguments, []), node)


def _leaves(body: list[ast.stmt]) -> bool:
    """Whether the lines behind these are never reached from them."""
    last = body[-1] if body else None
    if isinstance(last, ast.If):
        return _leaves(last.body) and _leaves(last.orelse)
    return isinstance(last, ast.Return | ast.Break | ast.Continue)


def _policies(tree: ast.Module) -> list[ast.ClassDef]:
    """The classes that have `schedule`."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return [node for node in classes if any(getattr(line, "name", None) == "schedule" for line in node.body)]


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _named(node: ast.AST) -> str:
    """What a reader calls a part of a program."""
    names = {
        **{"While": "while", "With": "with", "Try": "try", "Lambda": "lambda", "ListComp": "lists", "List": "lists"},
        **{"Dict": "dicts", "Set": "sets", "Tuple": "tuples", "JoinedStr": "texts", "Expr": "calls alone", "Starred": "*"},
        **{"Import": "import inside a function", "ImportFrom": "import inside a function", "ClassDef": "class", "In": "in"},
        **{"Global": "global", "Raise": "raise", "Assert": "assert", "Delete": "del", "NamedExpr": ":=", "Is": "is"},
        **{"FunctionDef": "functions inside functions"},
    }
    return names.get(type(node).__name__, type(node).__name__)
