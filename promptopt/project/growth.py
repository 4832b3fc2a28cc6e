"""Which conversations grow without end: requests add to a list that outlives them, and nothing cuts it.

That requests add to it is proved: a loop that asks the user for something, methods of an object, or a session's store
whose list gets more items in the file that sends it. That nothing cuts it cannot be proved: anything in these files
that looks as if it did decides against growth.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from promptopt.project.lifetime import serves_one_call
from promptopt.project.targets import all_statements
from promptopt.project.values import ClassValue, Grown, Place, ScopeRef, Value, Volatile

if TYPE_CHECKING:
    from promptopt.project.evaluate import Evaluator
    from promptopt.readers.facts import Expression, Scope

_HISTORY: Final = "conversation-history"
_ADDING: Final = frozenset({"append", "extend", "insert"})

_CUTTING_CALLS: Final = re.compile(
    r"trim|truncat|prun|summar|compact|compress|condens|shorten|shrink|window|limit|budget|evict|rotate"
    r"|num_tokens|count_tokens|token_count|max_tokens_for|get_num_tokens",
    re.IGNORECASE,
)
"""Names of functions that shorten a conversation, or measure it."""

_CUTTING_WORDS: Final = re.compile(
    r"\bmax_?(?:hist\w*|turns?|messages?|rounds?|context\w*|memory)\b|\b(?:hist\w*|memory|context|window|message)_"
    r"(?:limit|window|size|length|len|budget)\b|\bdeque\(",
    re.IGNORECASE,
)
"""Limits by name, and a list that has one."""


def grows_in_loop(ev: Evaluator, loop: Place) -> bool:
    """Whether nothing cuts a list that each round of a loop adds to; any list that is cut in the loop may be it."""
    text = ev.world.files[loop.path].text[loop.start : loop.end]
    return not _is_cut(ev, loop, text, frozenset())


def grows_without_end(ev: Evaluator, value: Value, *, asks: bool) -> bool:
    """Whether requests add to a list that outlives them and that nothing cuts.

    `value` is the list, as it was found among a request's messages; `asks` says that a loop around the request asks
    the user for something.
    """
    if isinstance(value, Grown) and value.place is not None and value.where == "session" and value.steady:
        if not asks and _serves_one_call(ev, value.place):
            return False
        return not _is_cut(ev, value.place, ev.world.files[value.place.path].text, _names_at(ev, value.place))
    if isinstance(value, Volatile) and value.kind == _HISTORY and not value.by_name and value.place is not None:
        names = frozenset(_added_to(ev, value.place.path, value.expression))
        return bool(names) and not _is_cut(ev, value.place, ev.world.files[value.place.path].text, names)
    return False


def _serves_one_call(ev: Evaluator, place: Place) -> bool:
    """Whether the object whose method adds items at a place is made for one run of an agent."""
    scopes = ev.world.modules[place.path].scopes
    inside = [one for one in scopes if one.kind == "class" and one.start <= place.start < one.end]
    number = max((scopes.index(one) for one in inside), default=None)
    return number is not None and serves_one_call(ev, ClassValue(ScopeRef(place.path, number)))


def _names_at(ev: Evaluator, place: Place) -> frozenset[str]:
    """What a list is called where items are added to it: the text ahead of `.append(...)` or `+=`."""
    text = re.split(r"\.(?:append|extend|insert)\(|\+=", ev.text(place), maxsplit=1)[0]
    return frozenset({text.strip()})


def _added_to(ev: Evaluator, path: str, expression: str) -> Iterator[str]:
    """Names under which functions of a file add items to what `expression` reads, that included."""
    for scope in ev.world.modules[path].scopes:
        if scope.kind != "function":
            continue
        names = {expression, *_aliases(ev, path, scope, expression)}
        added = {ev.text(Place(path, *one[1:3])) for one in _grown_here(scope)}
        yield from names & added


def _aliases(ev: Evaluator, path: str, scope: Scope, expression: str) -> Iterator[str]:
    """Names that a function gives to the value of an expression."""
    for statement in all_statements(scope.body):
        if statement[0] == "assign" and _same(ev.text(Place(path, *statement[6][1:3])), expression):
            yield from (target[3] for target in statement[5] if target[0] == "name")


def _same(text: str, expression: str) -> bool:
    """Whether an expression is that one, or that one with something in the place of nothing (`... or []`)."""
    return text == expression or bool(re.fullmatch(re.escape(expression) + r"\s+or\s+(\[\]|list\(\))", text))


def _grown_here(scope: Scope) -> Iterator[Expression]:
    """What a function adds items to."""
    for call in scope.calls:
        if call[2][0] == "attr" and call[2][4] in _ADDING:
            yield call[2][3]
    for statement in all_statements(scope.body):
        if statement[0] == "augmented" and statement[6] == "+":
            yield statement[5]


def _is_cut(ev: Evaluator, place: Place, text: str, names: frozenset[str]) -> bool:
    """Whether anything in the list's file looks as if it shortened it: by what it is called, or by what is done in
    `text` to one of `names` (to anything, where there are none)."""
    if _CUTTING_WORDS.search(ev.world.files[place.path].text):
        return True
    if any(_CUTTING_CALLS.search(name) for name in ev.world.modules[place.path].calls_by_name):
        return True
    return any(_cut(re.escape(name)).search(text) for name in names) if names else bool(_cut(r"[\w.]+").search(text))


def is_cut_in(ev: Evaluator, path: str, names: frozenset[str]) -> bool:
    """Whether anything in a file looks as if it shortened a conversation, kept under one of `names` where there are
    some."""
    if names:
        return _is_cut(ev, Place(path, 0, 0), ev.world.files[path].text, names)
    words = _CUTTING_WORDS.search(ev.world.files[path].text) is not None
    return words or any(_CUTTING_CALLS.search(name) for name in ev.world.modules[path].calls_by_name)


def _cut(name: str) -> re.Pattern[str]:
    """Slices, deletions, length checks and removals of a list."""
    list_name = rf"(?<![\w.]){name}"
    return re.compile(
        rf"{list_name}\s*\[[^\]\n]*:|\bdel\s+{list_name}|\blen\(\s*{list_name}\s*\)|{list_name}\.(?:pop|popleft|clear|remove)\b"
    )
