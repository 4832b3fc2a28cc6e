"""Edits applied to text, and which of them go together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from promptopt.finding import Edit, Fix
from promptopt.source import SourceFile


def edited(text: str, edits: Iterable[Edit]) -> str:
    """The text with edits of one file made; they must not overlap."""
    for edit in sorted(edits, key=_place, reverse=True):
        text = text[: edit.location.span.start] + edit.content + text[edit.location.span.end :]
    return text


def rewritten(fixes: Iterable[Fix], sources: Mapping[str, SourceFile]) -> dict[str, str]:
    """Texts of the files that fixes which go together change, by path. An edit that several of them make is made once.

    What an edit puts in gets the line ends of its file.
    """
    by_path: dict[str, dict[Edit, None]] = defaultdict(dict)
    for fix in fixes:
        for edit in fix.edits:
            by_path[edit.location.path][edit] = None
    texts = {}
    for path, edits in by_path.items():
        source = sources[path]
        texts[path] = edited(source.text, [_in_lines_of(source, edit) for edit in edits])
    return texts


def _in_lines_of(source: SourceFile, edit: Edit) -> Edit:
    if source.newline == "\n" or "\n" not in edit.content:
        return edit
    lines = edit.content.replace("\r\n", "\n").split("\n")
    return Edit(edit.location, source.newline.join(lines))


def go_together(fix: Fix, others: Iterable[Fix]) -> bool:
    """Whether no edit of the fix overlaps or touches a different one of the others."""
    taken = [edit for other in others for edit in other.edits]
    return all(edit == other or not _touch(edit, other) for edit in fix.edits for other in taken)


def _touch(first: Edit, second: Edit) -> bool:
    one, two = first.location, second.location
    return one.path == two.path and one.span.start <= two.span.end and two.span.start <= one.span.end


def _place(edit: Edit) -> tuple[int, int]:
    return edit.location.span.start, edit.location.span.end
