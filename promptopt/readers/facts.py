"""Facts: what one file says without looking at another, as a small serialisable language.

Readers write them, `promptopt.project` evaluates them. Everything is nested tuples of strings,
numbers and None, so `marshal` can store them. All offsets are character offsets into
`SourceFile.text`.

Expressions are `(tag, start, end, ...)`:

====================  ==========================================================================
`lit value`           string constant; the span holds the whole literal, quotes included (implicit
                      concatenation: all of it). Inside f-strings: the literal's own characters.
`const value`         int, float, bool or None
`name id`
`attr base name`
`call index`          `Scope.calls[index]`
`bin op left right`   op: `+` `*` `%` `|` `/` (other arithmetic is `unk`)
`or values`           also `and`
`not value`
`cmp op left right`   one comparison; op: `is` `is not` `==` `!=` `in` `not in` (others are `unk`)
`fstr pieces`         pieces: `lit` and `fmt`; also `tstr` (PEP 750)
`fmt value conv spec` a replacement field, braces included in the span; conv: `"r"`, `"s"`, `"a"` or
                      None; spec: pieces of the format specification (a tuple) or None
`seq kind items`      kind: `list` `tuple` `set`
`dict items`          items: `(key, value)` pairs, key None for `**value`
`star value`          `*value` in a sequence or an argument list
`ifexp test a b`      `a if test else b`
`comp kind element key generators`   kind: `list` `set` `dict` `gen`; key only for `dict`; a
                      generator is `(target, iterable, conditions)`
`index base key`
`slice base lo hi step`   parts may be None
`await value`
`lambda scope`        index into `Module.scopes`
`yield value`         value may be None; also `yield from` as `yieldfrom`
`str value`           string constant of a template
`part lo hi`          characters of a template's own text, in its offsets
`print value`         `{{ value }}`, its delimiters in the span
`filter name value arguments keywords`   `value | name(...)` in a template
`defined value`       `value is defined`
`fixed what`          not known in detail, but the same on every call: a loop's index
`block name scope`    a block of a template, where no template that extends it has another
`include name names`  another template's output; names: what it sees, as `(name, lowered name)`, or None
`import name names`   another template's macros
`extends name names blocks`   the parent's output, with `(name, scope)` blocks of this template
`unk kind`            anything else: `arithmetic`, `comparison`, `bytes`, `ellipsis`, `logging`, ...
====================  ==========================================================================

A call is `(start, end, function, arguments, keywords)`; keywords are `(name, value)`, name None for
`**value`.

Statements are `(tag, start, end, first_call, last_call, ...)`; the half-open range of call indices
covers the statement's own expressions, not its nested bodies:

==============================  ================================================================
`assign targets value`          targets are expressions (`name`, `attr`, `index`, `slice`, `seq`,
                                `star`); chained assignment has several
`annotated target annotation value`   annotation is source text, value may be None
`augmented target op value`     op: `+`, `|`, `*`, `%`, or `?` for any other
`expression value`
`return value`                  value may be None
`if test body orelse`
`for target iterable body orelse`
`while test body orelse`
`try body handlers orelse final`   handlers: `(name or None, body)`
`with items body`               items: `(expression, target or None)`
`match subject cases`           cases: `(names, body)`, names bound by the pattern; `irrefutable`
                                as third element where the last case always matches; one over
                                values alone is a chain of `if`
`def name scope`                function or class definition; also `class`
`import bindings`               bindings: `(module, attribute or None, alias, level)`; `import a.b`
                                binds alias `a` with module `a` and attribute None; `import a.b as
                                c` binds `c` with module `a.b`; `from m import *` has attribute
                                `*` and alias `*`
`stop kind`                     raise, break, continue
`delete targets`
`global names`                  also `nonlocal`
==============================  ================================================================

`:=` is hoisted: an `assign` statement of its own before the statement that holds it, and a `name` in
its place.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

FACTS_VERSION: Final = 3
"""Part of every cache key; raise it with any change of the language."""

Expression: TypeAlias = tuple[Any, ...]
Statement: TypeAlias = tuple[Any, ...]
CallFact: TypeAlias = tuple[int, int, Expression, tuple[Expression, ...], tuple[tuple[str | None, Expression], ...]]


@dataclass(frozen=True, slots=True)
class ParameterFact:
    """One parameter; `kind` is positional, keyword, args (`*args`) or kwargs (`**kwargs`).

    The default belongs to the defining scope; `annotation` is source text.
    """

    name: str
    kind: str
    start: int
    end: int
    default: Expression | None = None
    annotation: str | None = None


@dataclass(slots=True)
class Scope:
    """A module, class, function or lambda, or a `template`: a function of its context (see `readers.jinja`).

    `name` is qualified within the module (`Agent.run`, `Agent.run.<locals>.helper`), empty for the
    module. `parent` is an index into `Module.scopes`, -1 for the module. Decorators, bases and
    defaults are expressions of the parent scope, and their calls stand in the parent's table.
    A lambda's body is one `return`. `start, end` cover the definition from its first decorator on,
    `name_start, name_end` the name. `docstring` is a `lit` or None. `globals` are the names that its
    own statements declare global. `returns` is the source of the annotation of what a function returns.
    """

    kind: str
    name: str
    parent: int
    start: int
    end: int
    name_start: int = 0
    name_end: int = 0
    params: tuple[ParameterFact, ...] = ()
    body: tuple[Statement, ...] = ()
    calls: tuple[CallFact, ...] = ()
    decorators: tuple[Expression, ...] = ()
    bases: tuple[Expression, ...] = ()
    docstring: Expression | None = None
    is_async: bool = False
    is_generator: bool = False
    globals: tuple[str, ...] = ()
    returns: str | None = None


@dataclass(slots=True)
class Module:
    """Facts of one Python file.

    `scopes[0]` is the module itself. `calls_by_name` maps the last name of a called expression
    (`create` of `client.chat.completions.create`) to `(scope, call)` indices. `imports` lists every
    import binding of the file, nested ones included, as in the `import` statement; `import a.b` without
    alias adds `("a.b", None, "", 0)`, for the module that it loads besides `a`.
    """

    path: str
    scopes: tuple[Scope, ...]
    calls_by_name: dict[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    imports: tuple[tuple[str, str | None, str, int], ...] = ()
