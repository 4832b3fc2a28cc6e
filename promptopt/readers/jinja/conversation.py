"""What a chat template does with the turns of a conversation: clocks that it reads, turns that it prints in another
way once others follow them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from jinja2 import nodes

from promptopt.readers.jinja.names import Placing, Range, span_of

TURNS: Final = frozenset({"messages", "loop_messages"})
"""Names that chat templates know the conversation by."""

_CLOCKS: Final = frozenset({"strftime_now"})
_AHEAD: Final = frozenset({"last", "revindex", "revindex0", "length"})


@dataclass(frozen=True, slots=True)
class Conversation:
    """A template that loops over the turns of a conversation.

    `clocks` are calls that read the clock, with the directives that they print it by, None where these are not
    constant. `rewritten` are tests that come out in another way for a turn once others follow it.
    """

    clocks: tuple[tuple[Range, str | None], ...] = ()
    rewritten: tuple[Range, ...] = ()


def read_conversation(tree: nodes.Template, place: Placing) -> Conversation | None:
    """What the template does with a conversation; None where it loops over none."""
    loops = [loop for loop in tree.find_all(nodes.For) if _is_over_turns(loop.iter)]
    if not loops:
        return None
    calls: Iterator[Any] = tree.find_all(nodes.Call)
    clocks = tuple([(place(*span_of(call)), _directives(call)) for call in calls if _reads_clock(call)])
    late = frozenset(_set_backwards(tree))
    tests = dict.fromkeys(place(*span_of(test)) for loop in loops for test in _rewriting(loop, late))
    return Conversation(clocks, tuple(tests))


def _is_over_turns(iterable: nodes.Node | None) -> bool:
    return isinstance(iterable, nodes.Name) and iterable.name in TURNS


def _reads_clock(call: nodes.Call) -> bool:
    return isinstance(call.node, nodes.Name) and call.node.name in _CLOCKS


def _directives(call: nodes.Call) -> str | None:
    given = call.args[0] if call.args else None
    return given.value if isinstance(given, nodes.Const) and isinstance(given.value, str) else None


def _set_backwards(tree: nodes.Template) -> Iterator[str]:
    """Attributes of namespaces that a loop over the conversation from its end sets: where the last question stands."""
    for loop in tree.find_all(nodes.For):
        if not _is_over_turns(loop.iter) and any(_is_over_turns(one) for one in loop.iter.find_all(nodes.Name)):
            yield from (target.attr for target in loop.find_all(nodes.NSRef))


def _rewriting(loop: nodes.For, late: frozenset[str]) -> Iterator[Any]:
    """Tests in a loop over the turns that ask what follows, where what they decide is printed."""
    for branch in loop.find_all((nodes.If, nodes.CondExpr)):
        test: Any = branch.test  # type: ignore[attr-defined]  # both kinds have one
        if _looks_ahead(test, late) and not _groups(test) and _prints(branch, negated=isinstance(test, nodes.Not)):
            yield test


def _looks_ahead(test: nodes.Node, late: frozenset[str]) -> bool:
    """Whether a test asks for the end of the conversation."""
    found: Any
    for found in (test, *test.find_all((nodes.Getattr, nodes.Getitem, nodes.Filter))):
        of_loop = isinstance(found, nodes.Getattr) and isinstance(found.node, nodes.Name)
        if of_loop and found.node.name == "loop" and found.attr in _AHEAD:
            return True
        if isinstance(found, nodes.Getattr) and found.attr in late:
            return True
        if isinstance(found, nodes.Filter) and found.name in ("last", "length", "count") and _is_over_turns(found.node):
            return True
        if isinstance(found, nodes.Getitem) and _is_over_turns(found.node) and _is_negative(found.arg):
            return True
    return False


def _is_negative(key: nodes.Node) -> bool:
    return isinstance(key, nodes.Neg) or (isinstance(key, nodes.Const) and isinstance(key.value, int) and key.value < 0)


def _groups(test: nodes.Node) -> bool:
    """Whether a test looks at a turn's neighbour, to print turns that come together as one, or asks for the answer
    that is to be written."""
    found: Any
    for found in (test, *test.find_all((nodes.Getattr, nodes.Getitem, nodes.Name))):
        if isinstance(found, nodes.Getattr) and found.attr in ("nextitem", "previtem"):
            return True
        if isinstance(found, nodes.Getitem) and isinstance(found.arg, (nodes.Add, nodes.Sub)):
            return True
        if isinstance(found, nodes.Name) and found.name == "add_generation_prompt":
            return True
    return False


def _prints(branch: Any, *, negated: bool) -> bool:
    """Whether text is taken away or changed where the end moves on. What is only added behind a turn that others
    follow (`not loop.last`) leaves what was there."""
    if isinstance(branch, nodes.CondExpr):
        return True
    kept = [*branch.elif_, *branch.else_] if negated else [*branch.body, *branch.elif_, *branch.else_]
    outputs = [output for node in kept for output in _outputs(node)]
    return any(not _raises(one) for output in outputs for one in output.nodes)


def _outputs(node: nodes.Node) -> Iterator[nodes.Output]:
    if isinstance(node, nodes.Output):
        yield node
    yield from node.find_all(nodes.Output)


def _raises(printed: nodes.Node) -> bool:
    """Whether what is printed is an error, or nothing but white space."""
    if isinstance(printed, nodes.TemplateData):
        return not printed.data.strip()
    return isinstance(printed, nodes.Call) and isinstance(printed.node, nodes.Name) and "raise" in printed.node.name
