"""`promptopt trim`: what ContextTrimmer keeps of passages in files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

import click

from promptopt.cli.input import STDIN, read_text
from promptopt.cli.options import find_counter
from promptopt.cli.output import terminal_width, write, write_error
from promptopt.errors import TrimError, UsageError
from promptopt.trim.choices import OrderName, RankerName, UnitName

if TYPE_CHECKING:
    from promptopt.tokens import TokenCounter
    from promptopt.trim import Part, Trimmed

_FORMS: Final = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json"}
_LISTS: Final = ("passages", "documents")


@dataclass(frozen=True, slots=True)
class _Given:
    """A passage as it was read, and where."""

    place: str
    passage: Any


@click.command("trim", short_help="Keep what answers a question, within a token budget.")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option("--query", required=True, help="The question.")
@click.option("--budget", type=click.IntRange(1), required=True, help="Most tokens of what is printed.")
@click.option(
    "--input-format",
    type=click.Choice(["text", "jsonl", "json"]),
    help="What FILES hold [by their names; stdin by its content].",
)
@click.option(
    "--ranker",
    type=click.Choice(get_args(RankerName)),
    default="lexical",
    help="What ranks the parts [lexical].",
)
@click.option("--ranker-model", help="Folder, package or name of the model of dense, cross-encoder and hybrid.")
@click.option("--vectors", default="wordllama", help="Folder or package of static vectors [wordllama].")
@click.option(
    "--unit", type=click.Choice(get_args(UnitName)), default="sentence", help="What is kept whole [sentence]."
)
@click.option(
    "--order",
    type=click.Choice(get_args(OrderName)),
    default="original",
    help="Order of the passages [original].",
)
@click.option("--model", help="Count as for this language model [the configuration's, else none].")
@click.option("--encoding", help="o200k_base, cl100k_base or the path of a tokenizer.json [the model's].")
@click.option("--explain", is_flag=True, help="Print every part with its score and why it is kept or not.")
@click.option("--json", "as_json", is_flag=True, help="Print text, passages and every part as JSON.")
@click.option("-v", "--verbose", count=True, help="Twice: tracebacks of errors.")
def command(**options: Any) -> int:
    """Print what answers a question of the passages in FILES, or in stdin (`-`, the default).

    A text file is a passage. JSON Lines and JSON hold strings, or objects with the key text, page_content,
    content or body, and perhaps title; a JSON file holds a list of them, one, or {"passages": [...]}.
    """
    from promptopt.trim import ContextTrimmer  # noqa: PLC0415 (not needed to print help)

    paths = options["files"] or (STDIN,)
    counter = find_counter(paths, options["model"], options["encoding"])
    names = ("ranker", "vectors", "unit", "order")
    trimmer = ContextTrimmer(
        options["budget"],
        count=counter.text,
        model=options["ranker_model"],
        **{name: options[name] for name in names},
    )
    given = [one for path in paths for one in _read(path, options["input_format"])]
    trimmed = trimmer.trim(options["query"], [one.passage for one in given])
    if options["as_json"]:
        write(_as_json(trimmed, given, counter, options["budget"]))
    elif options["explain"]:
        write(_explained(trimmed, given, counter, options["budget"]))
    elif trimmed.text:
        write(f"{trimmed.text}\n")
    else:
        write_error(f"promptopt: nothing fits into {options['budget']:,} tokens: --explain shows the parts")
    return 0


def _read(path: Path, form: str | None) -> list[_Given]:
    """The passages of a file.

    Raises:
        UsageError: it cannot be read, or holds something else.
    """
    from promptopt.trim.passages import read_passage  # noqa: PLC0415

    given = list(_parsed(path, read_text(path), form or _FORMS.get(path.suffix.lower())))
    for number, one in enumerate(given):
        try:
            read_passage(one.passage, number)
        except TrimError as error:
            raise UsageError(f"{one.place}: {error}") from error
    return given


def _parsed(path: Path, text: str, form: str | None) -> Iterator[_Given]:
    if form is None:
        form = _recognized(text) if path == STDIN else "text"
    if form == "text":
        yield _Given(str(path), text)
    elif form == "jsonl":
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                yield _Given(f"{path}:{number}", _loaded(line, f"{path}:{number}"))
    else:
        content = _loaded(text, str(path))
        if isinstance(content, dict):
            content = next((content[key] for key in _LISTS if isinstance(content.get(key), list)), [content])
        if not isinstance(content, list):
            content = [content]
        yield from (_Given(f"{path}[{number}]", passage) for number, passage in enumerate(content))


def _recognized(text: str) -> str:
    """What stdin holds: JSON, JSON Lines or text."""
    if text.lstrip()[:1] not in {"[", "{", '"'}:
        return "text"
    for form, pieces in (("json", [text]), ("jsonl", filter(str.strip, text.split("\n")))):
        try:
            for piece in pieces:
                json.loads(piece)
        except (ValueError, RecursionError):
            continue
        return form
    return "text"


def _loaded(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{place}: not JSON: {error}: --input-format says what it is") from error


def _parts(trimmed: Trimmed[Any]) -> list[tuple[Part, bool]]:
    """Every part in order, and whether it is kept."""
    parts = [*((part, True) for part in trimmed.kept), *((part, False) for part in trimmed.dropped)]
    return sorted(parts, key=lambda pair: (pair[0].passage, pair[0].start))


def _explained(trimmed: Trimmed[Any], given: Sequence[_Given], counter: TokenCounter, budget: int) -> str:
    """A line of totals, then each passage with its parts: `+` is kept, `-` is not."""
    from promptopt.trim.passages import read_passage  # noqa: PLC0415

    parts = _parts(trimmed)
    mark = "~" if counter.estimate else ""
    used = f"{mark}{trimmed.tokens:,} of {budget:,} tokens ({counter.encoding})"
    lines = [f"{used}, {len(trimmed.kept)} of {len(parts)} parts kept"]
    width = max(len(part.reason) for part, _ in parts) if parts else 0
    for index, own in groupby(parts, lambda pair: pair[0].passage):
        passage = read_passage(given[index].passage, index)
        lines += ["", "  ".join(filter(None, (given[index].place, _line(passage.title))))]
        for part, kept in own:
            head = f"  {'+' if kept else '-'} {part.score:6.2f}  {part.reason:{width}}  "
            shown = _line(passage.text[part.start : part.end])
            room = max(terminal_width() - len(head), 20)
            lines.append(head + (shown if len(shown) <= room else f"{shown[: room - 3]}..."))
    return "\n".join(lines) + "\n"


def _line(text: str) -> str:
    """A text as one line that cannot steer a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in " ".join(text.split()))


def _as_json(trimmed: Trimmed[Any], given: Sequence[_Given], counter: TokenCounter, budget: int) -> str:
    from promptopt.trim.passages import read_passage  # noqa: PLC0415

    def told(part: Part) -> dict[str, Any]:
        return {
            "place": given[part.passage].place,
            "start": part.start,
            "end": part.end,
            "score": part.score,
            "reason": part.reason,
            "text": read_passage(given[part.passage].passage, part.passage).text[part.start : part.end],
        }

    report = {
        "text": trimmed.text,
        "tokens": trimmed.tokens,
        "budget": budget,
        "encoding": counter.encoding,
        "estimate": counter.estimate,
        "passages": trimmed.passages,
        "kept": [told(part) for part in trimmed.kept],
        "dropped": [told(part) for part in trimmed.dropped],
    }
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"
