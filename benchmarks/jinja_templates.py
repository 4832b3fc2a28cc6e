"""How long templates take to be read with spans, beside `jinja2.Environment.parse`.

    python benchmarks/jinja_templates.py FOLDER...

Reads every `.j2`, `.jinja` and `.jinja2` below the folders three times each way, and prints CPU seconds of one pass and
their ratio. Templates that do not parse are left out.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from jinja2 import Environment

from promptopt.readers.jinja.template import JinjaSyntaxError, read_template
from promptopt.source import SourceFile

SUFFIXES = (".j2", ".jinja", ".jinja2")
PASSES = 3


def templates(folders: Iterable[str]) -> list[SourceFile]:
    """All templates below the folders."""
    paths = sorted(path for folder in folders for path in Path(folder).rglob("*") if path.suffix in SUFFIXES)
    return [SourceFile(str(path), path.read_bytes().decode("utf-8", "replace")) for path in paths if path.is_file()]


def parses(source: SourceFile) -> bool:
    """Whether the template can be read at all."""
    try:
        read_template(source)
    except JinjaSyntaxError:
        return False
    return True


def seconds(work: Callable[[SourceFile], object], sources: list[SourceFile]) -> float:
    """CPU seconds of one pass over the templates."""
    start = time.process_time()
    for source in sources * PASSES:
        work(source)
    return (time.process_time() - start) / PASSES


def main(folders: list[str]) -> None:
    """Print one line of figures."""
    found = templates(folders)
    sources = [source for source in found if parses(source)]
    if not sources:
        sys.exit("no templates there; give folders with .j2, .jinja or .jinja2 files")
    plain = Environment(extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols"], autoescape=False)  # noqa: S701
    parsed = seconds(lambda source: plain.parse(source.text), sources)
    read = seconds(read_template, sources)
    print(f"{len(found)} templates, {len(sources)} parse")
    print(f"jinja2 {parsed:.3f} s, with spans {read:.3f} s, {read / parsed:.2f} times")


main(sys.argv[1:])
