"""What the whole house talks about: prompts, calls, and how often their parts change.

Readers and the linker build these values, rules look only at them. All are frozen, hold no syntax
tree and can be serialised. Token figures are estimates from characters (`estimate_tokens`) unless a function
that counts is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from types import MappingProxyType
from typing import Final, TypeAlias

from promptopt.source import Location

CHARACTERS_PER_TOKEN: Final = 4
"""English prose averages about four characters per token in current encodings."""


def estimate_tokens(characters: int) -> int:
    """Tokens that `characters` characters of prose amount to, rounded up."""
    return -(-characters // CHARACTERS_PER_TOKEN)


def _estimate(texts: Iterable[str]) -> int:
    return estimate_tokens(sum(map(len, texts)))


class Volatility(IntEnum):
    """How often a value changes, rarest first; `max` joins two of them.

    `UNKNOWN` stands between `REQUEST` and `CALL`: joined with `CALL` the result is `CALL`, with
    anything lower it stays unknown. Ask `at_least` before acting on one.
    """

    CONSTANT = 0
    DEPLOYMENT = 1
    PROCESS = 2
    DAY = 3
    USER = 4
    SESSION = 5
    REQUEST = 6
    UNKNOWN = 7
    CALL = 8

    def at_least(self, level: Volatility) -> bool:
        """Whether the value is known to change as often as `level`; false where unknown."""
        return self is not Volatility.UNKNOWN and self >= level


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a value changes.

    `kind` is an entry of the source catalogue (`time-of-day`, `uuid`, `set-order`, ...), `label` its
    words for people ("the time of day"), `expression` the source text that brings it in
    (`datetime.now()`), `chain` the places from the source to the prompt. `by_name` marks a guess from
    an identifier rather than a resolved call.
    """

    kind: str
    label: str
    volatility: Volatility
    expression: str = ""
    chain: tuple[Location, ...] = ()
    by_name: bool = False


@dataclass(frozen=True, slots=True)
class Segment:
    """`length` characters of a text from `offset` on come from `location`.

    Where `length` equals the location's length, characters correspond one to one; elsewhere an escape
    or a computation stands between and edits inside are not possible.
    """

    offset: int
    length: int
    location: Location


@dataclass(frozen=True, slots=True)
class Text:
    """Constant text and the source places of its characters."""

    value: str
    map: tuple[Segment, ...] = ()


@dataclass(frozen=True, slots=True)
class Interpolation:
    """A value put into text at run time (PEP 750's term).

    `location` is where it stands in the prompt's source, `causes` what makes it change, the most
    volatile first; `causes` may be non-empty while `volatility` is UNKNOWN.
    """

    expression: str
    volatility: Volatility
    causes: tuple[Cause, ...] = ()
    location: Location | None = None

    @property
    def cause(self) -> Cause | None:
        """The most volatile cause."""
        return self.causes[0] if self.causes else None


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several alternatives, decided at run time by `condition` (source text)."""

    condition: str
    alternatives: tuple[Parts, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """`body` once for each element of `over` (source text); `variable` names the element."""

    over: str
    variable: str
    body: Parts


@dataclass(frozen=True, slots=True)
class Media:
    """An image, audio clip or file among the text."""

    kind: str
    location: Location | None = None


Part: TypeAlias = Text | Interpolation | Choice | Repeat | Media
Parts: TypeAlias = tuple[Part, ...]


UNKNOWN_LIFETIME: Final = "?"


@dataclass(frozen=True, slots=True)
class CacheMarker:
    """An explicit cache breakpoint; `ttl` as written (`"5m"`, `"1h"`), None where it is left out, `"?"`
    (`UNKNOWN_LIFETIME`) where it is not known."""

    ttl: str | None = None
    location: Location | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """One content block of a message; `marker` is a breakpoint at its end."""

    parts: Parts
    marker: CacheMarker | None = None
    location: Location | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One message; `role` is system, developer, user, assistant or tool.

    `certain` is false where it is sent only on some branch.
    """

    role: str
    blocks: tuple[Block, ...]
    location: Location | None = None
    certain: bool = True


@dataclass(frozen=True, slots=True)
class History:
    """Earlier turns of a conversation, or a list of messages that is not known in detail.

    `grows_in` says what kind of thing holds them: parameter, loop, session, store, agent, run, server,
    unknown. Behind an `agent`'s instructions, made anew for each request, every earlier message is read
    again when they change; in a `run` they are made once and never change.
    `bounds` names what limits them; a `window` is the last few, of which the oldest drops out in every turn. Only
    `known` ones count as a conversation. `unbounded` says that requests are proved to add to them, and that nothing
    was found which cuts them.
    """

    grows_in: str
    bounds: tuple[str, ...] = ()
    expression: str = ""
    location: Location | None = None
    known: bool = True
    unbounded: bool = False


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool definition: its name where known and its schema as prompt parts."""

    name: str | None
    parts: Parts = ()
    marker: CacheMarker | None = None
    location: Location | None = None


@dataclass(frozen=True, slots=True)
class ToolList:
    """The tools of a request in order.

    `complete` is false where more may be sent than `tools` lists. `cause` tells why their order or
    membership changes from request to request, if it does; `location` is where the list is made.
    """

    tools: tuple[Tool, ...] = ()
    complete: bool = True
    cause: Cause | None = None
    location: Location | None = None


class Absent(Enum):
    """Why a parameter has no value: not passed at all, or passed in a way that cannot be resolved."""

    UNSET = "unset"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a call: a plain constant, `UNKNOWN`, and what makes it change, if known."""

    value: str | int | float | bool | Absent | None
    location: Location | None = None
    volatility: Volatility = Volatility.UNKNOWN
    causes: tuple[Cause, ...] = ()


@dataclass(frozen=True, slots=True)
class CallContext:
    """What surrounds a request site: `handler` is web, chat, terminal, job, test, evaluation or unknown."""

    handler: str = "unknown"
    is_async: bool = False
    loops: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """One request site. `params` is keyed by the SDK file's canonical names (`max_tokens`, `stream`,
    `cache_key`, ...); a name that is missing was not passed, `unresolved` says that a `**mapping`
    may have passed anything. `encoding` is what its text is counted with where configuration says so. `sent` is false
    for a template that no request which was found sends: `location` is then where it is rendered, or the template."""

    sdk: str
    endpoint: str
    provider: str | None
    location: Location
    function: str
    model: Parameter | None = None
    params: Mapping[str, Parameter] = field(default_factory=lambda: MappingProxyType({}))
    unresolved: bool = False
    context: CallContext = CallContext()
    explicit_markers: bool = False
    encoding: str | None = None
    sent: bool = True

    def parameter(self, name: str) -> Parameter:
        """The parameter, or one whose value is `UNSET` or `UNKNOWN`."""
        absent = Absent.UNKNOWN if self.unresolved else Absent.UNSET
        return self.params.get(name, Parameter(absent))


@dataclass(frozen=True, slots=True)
class ChatTemplate:
    """A template that writes a conversation as the text which a model reads.

    `clocks` are calls in it that read the clock, and how often what they print changes. `rewritten` are the tests by
    which a turn is printed in another way once others follow it.
    """

    location: Location
    clocks: tuple[tuple[Location, Volatility], ...] = ()
    rewritten: tuple[Location, ...] = ()


@dataclass(frozen=True, slots=True)
class BracedText:
    """JSON in a template whose engine reads braces as replacement fields (`str.format`, LangChain's f-strings).

    `location` is the object with its braces, `braces` are those that would have to be doubled, one character each;
    empty where the source does not show them one by one.
    """

    location: Location
    braces: tuple[Location, ...] = ()


@dataclass(frozen=True, slots=True)
class TemplateVariable:
    """A variable of its context that a template reads, and where. `optional`: the template asks whether it is there."""

    name: str
    locations: tuple[Location, ...]
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Rendering:
    """One call that renders a template: the names that it passes, with the places where they are written (None where
    they are handed on); `open` where it may pass others, too."""

    location: Location
    passed: tuple[tuple[str, Location | None], ...]
    open: bool = False


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """A template whose text is part of a prompt, and the calls that render it.

    `variables` are those that it reads itself, `used` all names that it or a template which it uses reads. `complete`
    is false where it uses templates that are not known, `supplied` true where its environment may define further names,
    `shared` true where one of its calls renders other templates, too.
    """

    location: Location
    variables: tuple[TemplateVariable, ...]
    used: frozenset[str]
    renderings: tuple[Rendering, ...]
    complete: bool = True
    supplied: bool = False
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Keeping:
    """A conversation that a framework keeps outside of the requests that the code shows, and that nothing cuts.

    It is kept, or handed on, at `location` (`expression` is its source text), and sent by what stands at `feeds`.
    """

    location: Location
    expression: str
    feeds: Location


@dataclass(frozen=True, slots=True)
class Retrieval:
    """A search whose passages reach a prompt.

    `k` is the number of passages, which stands at `location` or is decided there; `expression` is the search's source
    text. `feeds` is where the passages are put into a prompt. `bounds` are the names of what narrows them on the way:
    what reranks, compresses, filters or counts them, by its arguments or as far as names in the files on the way tell.
    `kept` is the number that a reranker on the way keeps, where it is known.
    """

    k: int
    location: Location
    expression: str
    feeds: Location
    bounds: tuple[str, ...] = ()
    kept: int | None = None


@dataclass(frozen=True, slots=True)
class Prompt:
    """What one request sends, in cache order: tools, then `messages`.

    `name` is `path::qualified.name`, with `#n` for the n-th there; `location` is the place that
    supplies the text. `callers` leads from the outermost place that supplies content to the call.
    """

    name: str
    call: Call
    location: Location
    tools: ToolList | None = None
    messages: tuple[Message | History, ...] = ()
    callers: tuple[Location, ...] = ()

    @property
    def system(self) -> tuple[Message, ...]:
        """The messages that instruct: system and developer."""
        return tuple(m for m in self.messages if isinstance(m, Message) and m.role in ("system", "developer"))

    def stable_prefix(
        self, below: Volatility = Volatility.USER, count: Callable[[Iterable[str]], int] = _estimate
    ) -> tuple[int, int]:
        """Tokens of the beginning that stays the same, as (proved, possible); `count` gives those of texts.

        Counting stops at the first part that changes at least as often as `below`; `possible` goes on
        through parts that are unknown, counting their own length as nothing.
        """
        proved, possible = stable_texts(self.flatten(), below)
        return count(proved), count(possible)

    def constant_tokens(self, count: Callable[[Iterable[str]], int] = _estimate) -> int:
        """Tokens of all constant text; `count` gives those of texts."""
        return count(part.value for part in self.flatten() if isinstance(part, Text))

    def flatten(self) -> Iterator[Text | Interpolation | History | Media]:
        """All parts in cache order.

        Alternatives and repeated bodies follow one another as if all were sent; the constant text of
        a choice is that of its longest alternative.
        """
        for tool in self.tools.tools if self.tools else ():
            yield from flatten(tool.parts)
        for message in self.messages:
            if isinstance(message, History):
                yield message
                continue
            for block in message.blocks:
                yield from flatten(block.parts)


def stable_texts(
    parts: Iterable[Text | Interpolation | History | Media], below: Volatility = Volatility.USER
) -> tuple[list[str], list[str]]:
    """The constant text of flat parts ahead of the first that changes, as (proved, possible); see `stable_prefix`."""
    proved: list[str] = []
    possible: list[str] = []
    certain = True
    for part in parts:
        if isinstance(part, Text):
            possible.append(part.value)
            proved += [part.value] if certain else []
            continue
        if isinstance(part, History) or (isinstance(part, Interpolation) and part.volatility.at_least(below)):
            break
        certain = certain and isinstance(part, Interpolation) and part.volatility is not Volatility.UNKNOWN
    return proved, possible


def flatten(parts: Parts) -> Iterator[Text | Interpolation | Media]:
    """Parts in reading order with choices and repetitions opened.

    All interpolations of a choice come first, then the text of its longest alternative: what follows
    a choice follows each of its interpolations.
    """
    for part in parts:
        if isinstance(part, Repeat):
            yield from flatten(part.body)
        elif isinstance(part, Choice):
            yield from _flatten_choice(part)
        else:
            yield part


def _flatten_choice(choice: Choice) -> Iterator[Text | Interpolation | Media]:
    flat = [tuple(flatten(alternative)) for alternative in choice.alternatives]
    longest = max(flat, key=text_length, default=())
    for alternative in flat:
        if alternative is not longest:
            yield from (part for part in alternative if not isinstance(part, Text))
    yield from longest


def constant_texts(parts: Parts) -> Iterator[Text]:
    """Constant text as `flatten` gives it."""
    return (part for part in flatten(parts) if isinstance(part, Text))


def text_length(parts: tuple[Text | Interpolation | Media, ...]) -> int:
    """Characters of constant text among flat parts."""
    return sum(len(part.value) for part in parts if isinstance(part, Text))
