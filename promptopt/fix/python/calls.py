"""Keywords put into a call or taken out of it, by LibCST: comments, line ends and trailing commas stay."""

from __future__ import annotations

from collections.abc import Collection

import libcst as cst


def with_keywords(text: str, *, drop: Collection[str] = (), add: Collection[tuple[str, str]] = ()) -> str | None:
    """The source of a call without some keywords and with others at its end; None where the text is no call."""
    try:
        call = cst.parse_expression(f"({text})")
    except cst.ParserSyntaxError:
        return None
    if not isinstance(call, cst.Call) or any(one.star == "**" for one in call.args):
        return None
    args = [one for one in call.args if one.keyword is None or one.keyword.value not in drop]
    if len(args) < len(call.args) and args:
        args[-1] = args[-1].with_changes(comma=call.args[-1].comma)
    for name, value in add:
        args = _added(args, name, value)
    changed = call.with_changes(args=args)
    if not args:
        changed = changed.with_changes(whitespace_before_args=cst.SimpleWhitespace(""))
    code = cst.Module([]).code_for_node(changed)
    return code[1:-1] if code.startswith("(") and code.endswith(")") else None


def _added(args: list[cst.Arg], name: str, value: str) -> list[cst.Arg]:
    """The arguments and one more keyword, laid out as the others are: on a line of its own where they have one each."""
    equal = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    new = cst.Arg(cst.parse_expression(value), cst.Name(name), equal=equal)
    if not args:
        return [new]
    last = args[-1]
    between = next((one.comma for one in args[:-1] if isinstance(one.comma, cst.Comma)), None)
    comma = between or cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    # the last argument's own comma or closing line end moves to the new one
    closing = last.whitespace_after_arg
    new = new.with_changes(comma=last.comma, whitespace_after_arg=closing)
    if isinstance(closing, cst.ParenthesizedWhitespace):
        last = last.with_changes(whitespace_after_arg=cst.SimpleWhitespace(""))
    return [*args[:-1], last.with_changes(comma=comma), new]
