"""PO207 embedded-binary."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Final

from promptopt.finding import Applicability, Finding, Remedy, Severity
from promptopt.prompt import Interpolation, Media, Prompt, Text, flatten
from promptopt.rule import Rule, RuleContext, sent_by
from promptopt.source import Location
from promptopt_rules.size.places import certain_blocks, place_in

_URL_START: Final = r"\bdata:[\w.+-]+/[\w.+-]+(?:;[\w=-]+)*;base64,"
_OPEN_URL: Final = re.compile(rf"{_URL_START}\Z")
_WHOLE_URL: Final = re.compile(rf"{_URL_START}[A-Za-z0-9+/]{{100,}}")

_RUN: Final = re.compile(r"(?<![A-Za-z0-9+/])(?=[a-z+/]*[A-Z])(?=[A-Z+/]*[a-z])[A-Za-z0-9+/]{300,}={0,2}")
"""Base64 of more than 200 bytes."""

_ENCODED: Final = re.compile(r"\bb64encode\((?:[^()]|\([^()]*\))*\)(?:\.decode\([^()]*\))?\Z")
_PAGE: Final = re.compile(r"\.(?:page_source|prettify\(\))\Z")


@dataclass(frozen=True, slots=True)
class _Found:
    """What stands in the text, and where."""

    what: str
    place: Location | None


class EmbeddedBinary(Rule[Prompt]):
    """Base64, a data URL or the markup of a whole page stands in the text of a prompt.

    ## What it finds

    In the text of a message: the result of `base64.b64encode`, a data URL with its content, a long run of base64, and
    the source of a page as a browser (`driver.page_source`) or Beautiful Soup (`soup.prettify()`) gives it.

    ## Why it is slow

    Base64 has about one token for every two characters: a picture of 100 kilobytes becomes some 70,000 tokens, of which
    the model can make nothing. As an image part it costs about a thousand. Most of a page's source is markup.

    ## Example

    ```python bad
    import base64

    from openai import OpenAI

    client = OpenAI()

    def describe(picture: bytes):
        url = f"data:image/png;base64,{base64.b64encode(picture).decode()}"  # finds: PO207
        return client.responses.create(model="gpt-5", input=f"Describe this picture: {url}")
    ```

    ## Use instead

    ```python good
    import base64

    from openai import OpenAI

    client = OpenAI()

    def describe(picture: bytes):
        url = f"data:image/png;base64,{base64.b64encode(picture).decode()}"
        content = [
            {"type": "input_text", "text": "Describe this picture."},
            {"type": "input_image", "image_url": url},
        ]
        return client.responses.create(model="gpt-5", input=[{"role": "user", "content": content}])
    ```

    ## Silent on

    - image, audio and file parts, whatever their content
    - hashes, ids, keys and other short runs
    - markup that is written into the prompt as an example

    ## Fix safety

    The content becomes a part of its own, or is reduced to text. The remedy is advice: no edit is made.

    ## References

    - https://developers.openai.com/api/docs/guides/images-vision
    """

    code: ClassVar[str] = "PO207"
    name: ClassVar[str] = "embedded-binary"
    severity: ClassVar[Severity] = Severity.WARNING
    since: ClassVar[str] = "0.1.0"
    fix: ClassVar[Applicability | None] = None
    subject: ClassVar[type[Prompt]] = Prompt

    def check(self, subject: Prompt, context: RuleContext) -> Iterator[Finding]:
        """One finding for each place."""
        told: set[Location] = set()
        for _, block in certain_blocks(subject):
            for found in _binaries(tuple(flatten(block.parts)), context):
                place = found.place or block.location or subject.location
                if place in told:
                    continue
                told.add(place)
                cost, advice = _ADVICE[found.what]
                yield self.finding(
                    f"{found.what} stands in the text of the prompt: {cost}. {advice[0].upper()}{advice[1:]}.",
                    place,
                    prompt=subject.name,
                    related=sent_by(subject.call, place),
                    remedies=[Remedy("send-as-part", advice)],
                )


_MARKUP: Final = "The source of a page"
_BASE64: Final = "Base64"
_URL: Final = "A data URL with its content"

_PART: Final = (
    "two or three characters of it are a token, and the model makes nothing of them",
    "send it as a part of its own",
)
_ADVICE: Final = {
    _MARKUP: ("most of it is markup, which is read on every request", "take the text out of it first"),
    _BASE64: _PART,
    _URL: _PART,
}


def _binaries(parts: tuple[Text | Interpolation | Media, ...], context: RuleContext) -> Iterator[_Found]:
    opened = False
    for part in parts:
        if isinstance(part, Text):
            opened = bool(_OPEN_URL.search(part.value))
            yield from _in_text(part)
        elif isinstance(part, Interpolation):
            yield from [_Found(_URL, part.location)] if opened else _in_value(part, context)
            opened = False


def _in_text(text: Text) -> Iterator[_Found]:
    for what, pattern in ((_URL, _WHOLE_URL), (_BASE64, _RUN)):
        if found := pattern.search(text.value):
            yield _Found(what, place_in(text, *found.span()))
            return


def _in_value(value: Interpolation, context: RuleContext) -> Iterator[_Found]:
    place = value.location
    written = context.text(place) if place and place.path in context.sources else ""
    for text in (value.expression, written):
        if _ENCODED.search(text):
            yield _Found(_BASE64, place)
            return
        if _PAGE.search(text):
            yield _Found(_MARKUP, place)
            return
