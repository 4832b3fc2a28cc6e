"""PO205 pretty-printed-json."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar, Final

from promptopt.finding import Applicability, Finding, Related, Remedy, Severity
from promptopt.prompt import Interpolation, Prompt, flatten
from promptopt.rule import Rule, RuleContext
from promptopt.source import Location
from promptopt_rules.size.places import certain_blocks

_INDENTED: Final = re.compile(
    r"\b(?:json|simplejson|ujson)?\.?(?:dumps|model_dump_json|to_json)\((?P<arguments>.*)\bindent\s*=\s*(?P<indent>[1-9]\d?|['\"])",
    re.DOTALL,
)
_IMITATED: Final = re.compile(r"schema|example|format|template|sample", re.IGNORECASE)
_LONGEST: Final = 2000
"""Characters of source text that are looked at: a longer one is no call that writes JSON."""


class PrettyPrintedJson(Rule[Prompt]):
    """JSON is put into a prompt with indentation.

    ## What it finds

    `json.dumps(..., indent=2)`, pydantic's `model_dump_json(indent=...)` and the like, whose result becomes part of a
    prompt, directly or through variables as far as they were followed.

    ## Why it is slow

    Line ends and blanks are tokens. Indented by two, ordinary JSON has a third to a half more of them than written on
    one line, and the model reads it just as well.

    ## Example

    ```python bad
    import json

    from openai import OpenAI

    client = OpenAI()

    def ask(order: dict, question: str):
        system = f"Answer questions about this order:\\n{json.dumps(order, indent=2)}"  # finds: PO205[info]
        return client.responses.create(model="gpt-5", instructions=system, input=question)
    ```

    ## Use instead

    ```python good
    import json

    from openai import OpenAI

    client = OpenAI()

    def ask(order: dict, question: str):
        system = f"Answer questions about this order:\\n{json.dumps(order, separators=(',', ':'))}"
        return client.responses.create(model="gpt-5", instructions=system, input=question)
    ```

    ## Silent on

    - JSON that the model must imitate: schemas, examples, templates, formats, by the names in the call
    - JSON that is constant: it is text like other text
    - `indent=None`, and JSON that goes into files, logs or answers

    ## Fix safety

    Unsafe: the same content in fewer characters, but a prompt that speaks of "line 12 of the JSON" would break. The
    keywords of `json.dumps` and `model_dump_json` are changed; other functions are left alone.

    ## References

    - https://docs.python.org/3/library/json.html#json.dumps
    """

    code: ClassVar[str] = "PO205"
    name: ClassVar[str] = "pretty-printed-json"
    severity: ClassVar[Severity] = Severity.INFO
    since: ClassVar[str] = "0.1.0"
    fix: ClassVar[Applicability | None] = Applicability.UNSAFE
    subject: ClassVar[type[Prompt]] = Prompt

    def check(self, subject: Prompt, context: RuleContext) -> Iterator[Finding]:
        """One finding for each place that writes the JSON."""
        told: set[Location] = set()
        for _, block in certain_blocks(subject):
            for value in flatten(block.parts):
                place = _written(value, context) if isinstance(value, Interpolation) else None
                if place is None or place in told:
                    continue
                told.add(place)
                yield self.finding(
                    "JSON goes into the prompt with indentation: the model reads its line ends and blanks as tokens. "
                    "Leave indent out and write it with separators=(',', ':').",
                    place,
                    prompt=subject.name,
                    subject=value.expression if isinstance(value, Interpolation) else "",
                    related=_way(value, place) if isinstance(value, Interpolation) else (),
                    remedies=[Remedy("compact-json", "leave indent out and write it with separators=(',', ':')")],
                )


def _way(value: Interpolation, place: Location) -> Iterator[Related]:
    if value.location and value.location != place:
        yield Related("put into the prompt here", value.location)


def _written(value: Interpolation, context: RuleContext) -> Location | None:
    """Where the value is written as indented JSON."""
    places = [*([value.location] if value.location else []), *(p for cause in value.causes for p in cause.chain)]
    for place in dict.fromkeys(places):
        text = context.text(place) if place.path in context.sources else ""
        found = _INDENTED.search(text) if len(text) <= _LONGEST else None
        if found and not _IMITATED.search(found["arguments"]) and not _IMITATED.search(value.expression):
            return place
    return None
