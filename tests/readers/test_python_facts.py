"""What the Python reader says about one file, against the language of `promptopt.readers.facts`."""

from __future__ import annotations

import marshal
from typing import Any, Final

import pytest

from promptopt.readers.facts import Module, Scope
from promptopt.readers.python import read_module
from promptopt.source import SourceFile, decode_source

BODY: Final = (("expression", 0, 0),)
"""A nested body of one expression, by tag and call range."""


def read(text: str) -> Module:
    """Facts of a text."""
    return read_module(SourceFile("module.py", text))


def value_of(text: str) -> Any:
    """Facts of the expression `text`, as assigned in a module."""
    return read(f"x = {text}").scopes[0].body[-1][6]


def bare(fact: Any, calls: tuple[Any, ...] = ()) -> Any:
    """A fact without its places; a call shows its function and arguments."""
    if not isinstance(fact, tuple):
        return fact
    if fact and isinstance(fact[0], str) and len(fact) > 3 and isinstance(fact[1], int) and isinstance(fact[2], int):
        if fact[0] == "call" and calls:
            return ("call", *bare(calls[fact[3]][2:], calls))
        return (fact[0], *(bare(part, calls) for part in fact[3:]))
    return tuple(bare(part, calls) for part in fact)


def body_of(scope: Scope) -> Any:
    """Statements of a scope without places and call ranges."""
    return tuple((statement[0], *bare(statement[5:], scope.calls)) for statement in scope.body)


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("'a' \"b\"", ("lit", "ab")),
        ("-1.5", ("const", -1.5)),
        ("None", ("const", None)),
        ("b'x'", ("unk", "bytes")),
        ("...", ("unk", "ellipsis")),
        ("a.b", ("attr", ("name", "a"), "b")),
        ("a + b", ("bin", "+", ("name", "a"), ("name", "b"))),
        ("a % b", ("bin", "%", ("name", "a"), ("name", "b"))),
        ("a | b", ("bin", "|", ("name", "a"), ("name", "b"))),
        ("'=' * 3", ("bin", "*", ("lit", "="), ("const", 3))),
        ("a - b + c", ("unk", "arithmetic")),
        ("a < b", ("unk", "comparison")),
        ("a == b == c", ("unk", "comparison")),
        ("a is not None", ("cmp", "is not", ("name", "a"), ("const", None))),
        ("a in b", ("cmp", "in", ("name", "a"), ("name", "b"))),
        ("a or b or c", ("or", (("name", "a"), ("name", "b"), ("name", "c")))),
        ("a and b", ("and", (("name", "a"), ("name", "b")))),
        ("not a", ("not", ("name", "a"))),
        ("[1, *a]", ("seq", "list", (("const", 1), ("star", ("name", "a"))))),
        ("(a,)", ("seq", "tuple", (("name", "a"),))),
        ("{a}", ("seq", "set", (("name", "a"),))),
        ("{'k': a, **b}", ("dict", ((("lit", "k"), ("name", "a")), (None, ("name", "b"))))),
        ("a if t else b", ("ifexp", ("name", "t"), ("name", "a"), ("name", "b"))),
        ("a[0]", ("index", ("name", "a"), ("const", 0))),
        ("a[-10:]", ("slice", ("name", "a"), ("const", -10), None, None)),
        (
            "[y for x in xs if x]",
            ("comp", "list", ("name", "y"), None, ((("name", "x"), ("name", "xs"), (("name", "x"),)),)),
        ),
        ("{k: v for k in ks}", ("comp", "dict", ("name", "v"), ("name", "k"), ((("name", "k"), ("name", "ks"), ()),))),
        (
            "f'a{b!r:>{w}}'",
            ("fstr", (("lit", "a"), ("fmt", ("name", "b"), "r", (("lit", ">"), ("fmt", ("name", "w"), None, None))))),
        ),
        ("f'{{{b = }'", ("fstr", (("lit", "{"), ("lit", "b = "), ("fmt", ("name", "b"), "r", None)))),
        ("''", ("lit", "")),
        ("f''", ("fstr", ())),
    ],
)
def test_expression(text: str, fact: Any) -> None:
    """Each kind of expression has its facts, with a span that covers it."""
    found = value_of(text)
    assert bare(found) == fact
    assert (found[1], found[2]) == (4, 4 + len(text))


def test_call_holds_function_arguments_and_keywords() -> None:
    """A call is an index into its scope's table and is found by the last name of what it calls."""
    module = read("client.chat.create(a, *b, model='m', **rest)\nrun()()")
    start, end, function, arguments, keywords = module.scopes[0].calls[0]
    assert (start, end) == (0, 44)
    assert bare(function) == ("attr", ("attr", ("name", "client"), "chat"), "create")
    assert bare(arguments) == (("name", "a"), ("star", ("name", "b")))
    assert bare(keywords) == (("model", ("lit", "m")), (None, ("name", "rest")))
    assert module.calls_by_name == {"create": ((0, 0),), "run": ((0, 1),)}
    assert len(module.scopes[0].calls) == 3


@pytest.mark.parametrize(
    "text", ["logger.info('%s', f'{x}')", "self._logger.error(x)", "logging.getLogger(a).debug(x)", "log.warning(x)"]
)
def test_logging_is_no_call(text: str) -> None:
    """Nothing is said about log messages."""
    module = read(f"{text}\nx = {text}")
    assert bare(module.scopes[0].body[0][6]) == ("unk", "logging")
    assert len(module.scopes[0].body) == 1
    assert not module.calls_by_name


@pytest.mark.parametrize("text", ["catalog.info(x)", "dialog.error(x)", "response.log(x)"])
def test_methods_with_a_logger_name_on_something_else_are_calls(text: str) -> None:
    """The receiver decides whether a method logs."""
    assert len(read(text).scopes[0].calls) == 1


@pytest.mark.parametrize(
    "text",
    [
        "len(send(a)) > 3 > 2",
        "a - send(b)",
        "-send(a)",
        "logger.info(send(a))",
        "assert send(a)",
        "raise E from send(a)",
    ],
)
def test_calls_inside_what_is_unknown_are_kept(text: str) -> None:
    """A request may stand in arithmetic, comparisons, assertions and log calls."""
    assert "send" in read(text).calls_by_name


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        (
            "a = b, *c = d",
            (("assign", (("name", "a"), ("seq", "tuple", (("name", "b"), ("star", ("name", "c"))))), ("name", "d")),),
        ),
        ("a.b: list[str] = c", (("annotated", ("attr", ("name", "a"), "b"), "list[str]", ("name", "c")),)),
        ("a: int", (("annotated", ("name", "a"), "int", None),)),
        ("a += b", (("augmented", ("name", "a"), "+", ("name", "b")),)),
        ("a //= b", (("augmented", ("name", "a"), "?", ("name", "b")),)),
        ("pass", ()),
        ("'text'", ()),
        ("del a, b[0]", (("delete", (("name", "a"), ("index", ("name", "b"), ("const", 0)))),)),
        ("for a in b: break\nelse: c", (("for", ("name", "a"), ("name", "b"), (("stop", 0, 0),), BODY),)),
        ("while a: continue", (("while", ("name", "a"), (("stop", 0, 0),), ()),)),
        ("if a: b\nelif c: d\nelse: e", (("if", ("name", "a"), BODY, (("if", 0, 0),)),)),
        (
            "try: a\nexcept E as e: b\nexcept: c\nelse: d\nfinally: f",
            (("try", BODY, (("e", BODY), (None, BODY)), BODY, BODY),),
        ),
        ("try: a\nexcept* E as e: b", (("try", BODY, (("e", BODY),), (), ()),)),
        ("with a as b, c: d", (("with", ((("name", "a"), ("name", "b")), (("name", "c"), None)), BODY),)),
        (
            "match a:\n case [x, *y]: b\n case {'k': z, **w}: c\n case E(v) as u: d",
            (("match", ("name", "a"), ((("x", "y"), BODY), (("w", "z"), BODY), (("u", "v"), BODY))),),
        ),
        ("match a:\n case [1]: b\n case _: c", (("match", ("name", "a"), (((), BODY), ((), BODY, "irrefutable"))),)),
        (
            "match a:\n case 1: b\n case E.x if c: d\n case _: e",
            (("if", ("cmp", "==", ("name", "a"), ("const", 1)), BODY, (("if", 0, 0),)),),
        ),
        (
            "match a:\n case None | 'x': b",
            (
                (
                    "if",
                    ("or", (("cmp", "is", ("name", "a"), ("const", None)), ("cmp", "==", ("name", "a"), ("lit", "x")))),
                    BODY,
                    (),
                ),
            ),
        ),
        ("match a:\n case other if b: c", (("match", ("name", "a"), ((("other",), BODY),)),)),
        ("import a.b, c.d as e", (("import", (("a", None, "a", 0), ("c.d", None, "e", 0))),)),
        ("from ..a import b as c, d", (("import", (("a", "b", "c", 2), ("a", "d", "d", 2))),)),
        ("from . import *", (("import", (("", "*", "*", 1),)),)),
    ],
)
def test_statement(text: str, statements: Any) -> None:
    """Each kind of statement has its facts; nested ones are shown by tag and call range."""
    assert _outline(read(text).scopes[0].body) == statements


def _outline(body: tuple[Any, ...]) -> Any:
    return tuple((statement[0], *map(_part, statement[5:])) for statement in body)


def _part(part: Any) -> Any:
    if not isinstance(part, tuple) or not part:
        return part
    if isinstance(part[0], str) and len(part) > 3 and isinstance(part[1], int):
        return (part[0], *part[3:5]) if _is_statement(part) else bare(part)
    return tuple(_part(item) for item in part)


def _is_statement(part: tuple[Any, ...]) -> bool:
    return part[0] in {"expression", "stop", "if", "return", "assign"}


def test_call_range_covers_a_statement_s_own_expressions() -> None:
    """Calls of nested bodies are not the statement's."""
    module = read("for a in f(g()):\n    h()\nk()")
    loop, last = module.scopes[0].body
    assert loop[3:5] == (0, 2)
    assert loop[7][0][3:5] == (2, 3)
    assert last[3:5] == (3, 4)


def test_assignment_expressions_are_hoisted() -> None:
    """`:=` is an assignment ahead of its statement, also of an `elif`."""
    scope = read("if (n := f()) > 1:\n    a\nelif m := n:\n    b").scopes[0]
    assign, branch = scope.body
    assert bare(assign[5:]) == ((("name", "n"),), ("call", 0))
    nested = branch[7]
    assert [statement[0] for statement in nested] == ["assign", "if"]
    assert bare(nested[1][5]) == ("name", "m")


def test_definition_belongs_to_its_scope() -> None:
    """Decorators, defaults and bases are the outer scope's, with their calls."""
    parameters = "a, /, b: int = f(), *c, d, e=2, **g"
    module = read(f"@deco(1)\nclass K(Base, metaclass=M):\n  @staticmethod\n  async def run({parameters}): yield a")
    outer, klass, function = module.scopes
    assert bare(klass.decorators) == (("call", 0),)
    assert bare(klass.bases) == (("name", "Base"),)
    assert (function.kind, function.name, function.parent) == ("function", "K.run", 1)
    assert function.is_async
    assert function.is_generator
    assert [(p.name, p.kind, bare(p.default), p.annotation) for p in function.params] == [
        ("a", "positional", None, None),
        ("b", "positional", ("call", 0), "int"),
        ("c", "args", None, None),
        ("d", "keyword", None, None),
        ("e", "keyword", ("const", 2), None),
        ("g", "kwargs", None, None),
    ]
    assert [len(scope.calls) for scope in module.scopes] == [1, 1, 0]
    assert module.calls_by_name["f"] == ((1, 0),)
    assert outer.body[0][0:3] == ("class", klass.start, klass.end)


def test_scope_span_starts_at_the_first_decorator() -> None:
    """The span of a definition covers its decorators, the name's span its name."""
    text = "@ (a)\n@b\nasync  def \\\n  deff(): pass\n"
    scope = read(text).scopes[1]
    assert text[scope.start :].startswith("@ (a)")
    assert text[scope.name_start : scope.name_end] == "deff"


def test_nested_names_are_qualified() -> None:
    """Qualified names are Python's."""
    module = read("def f():\n    class C:\n        def m(self): return lambda: 0\n    global a, b")
    assert [scope.name for scope in module.scopes] == [
        "",
        "f",
        "f.<locals>.C",
        "f.<locals>.C.m",
        "f.<locals>.C.m.<locals>.<lambda>",
    ]
    assert module.scopes[1].globals == ("a", "b")


def test_lambda_is_a_scope_with_one_return() -> None:
    """A lambda's body is what it returns."""
    module = read("f = lambda q, r=1: q + r")
    assert bare(module.scopes[0].body[0][6]) == ("lambda", 1)
    assert body_of(module.scopes[1]) == (("return", ("bin", "+", ("name", "q"), ("name", "r"))),)


def test_docstring_is_no_statement() -> None:
    """Docstrings are facts of the scope: tools send them."""
    module = read('"""Module."""\ndef f():\n    """Tool."""\n    return 1')
    assert bare(module.scopes[0].docstring) == ("lit", "Module.")
    assert bare(module.scopes[1].docstring) == ("lit", "Tool.")
    assert [statement[0] for statement in module.scopes[1].body] == ["return"]


def test_imports_list_every_binding() -> None:
    """Nested imports are listed, and the module that `import a.b` loads besides `a`."""
    module = read("import a.b\ndef f():\n    from .c import d")
    assert set(module.imports) == {("a", None, "a", 0), ("a.b", None, "", 0), ("c", "d", "d", 1)}


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("before", ["é = '😀'; ", "\x0c", "'''a\n\u2028\x0b'''; ", "if 1:\n\t", ""])
def test_offsets_are_characters_whatever_the_lines_hold(newline: str, before: str) -> None:
    """Line ends are those of Python source only; columns count characters, not bytes."""
    text = f"{before}target(ü, '€')\nz = 1\n".replace("\n", newline)
    module = read_module(decode_source(text.encode(), "m.py"))
    (start, end, function, arguments, _) = next(c for c in module.scopes[0].calls if c[2][3] == "target")
    assert text[start:end] == "target(ü, '€')"
    assert text[function[1] : function[2]] == "target"
    assert [text[a[1] : a[2]] for a in arguments] == ["ü", "'€'"]


def test_facts_can_be_stored() -> None:
    """Scopes hold nothing but what `marshal` stores."""
    module = read("class A(B):\n    x: int = f(1.5, None, k='v')\n    def m(self): return f'{self.x:>{w}}'")
    for scope in module.scopes:
        stored = (scope.body, scope.calls, scope.decorators, scope.bases, scope.docstring)
        assert marshal.loads(marshal.dumps(stored)) == stored  # noqa: S302 (its own dump)
