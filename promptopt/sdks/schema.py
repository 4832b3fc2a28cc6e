"""What a file of SDK facts says: call shapes, parameter names, message and template classes.

One TOML file per SDK or framework; adding an SDK is adding a file. A *symbol pattern* is
`root:suffix`: `root` is a glob over the first component of a dotted name, `suffix` its last
components (`langchain*:ChatPromptTemplate.from_messages`, `openai:OpenAI`).

An *argument reference* names where a value is taken from: an integer is a position, a string a
keyword; dots lead into a mapping or a constructor call (`config.system_instruction`), and a leading
`client.` into the constructor of the receiver (`client.system_instruction`). A component of
digits is a position (`client.0`, `1.max_tokens`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

Argument: TypeAlias = str | int

PARAMETERS: Final = frozenset(
    {
        "model",
        "max_tokens",
        "stream",
        "stop",
        "reasoning",
        "cache_key",
        "cache_mode",
        "cache_retention",
        "cache_ttl",
        "auto_cache",
        "temperature",
        "timeout",
    }
)
"""Canonical names of request parameters."""


@dataclass(frozen=True, slots=True)
class ClientShape:
    """Classes or factories whose instances send requests.

    `provider` is None where the class does not tell. `base_url` names the arguments that redirect the
    client to another server (then the provider is unknown). `passthrough` methods return the same
    client configured further (`with_options`, `bind_tools`); `tools_methods` among them take the
    tools as first argument. `annotations` are further symbols that a parameter annotated with holds
    such a client (`BaseChatModel`). `runnable` clients compose with `|`.
    """

    symbols: tuple[str, ...]
    provider: str | None = None
    base_url: tuple[str, ...] = ()
    passthrough: tuple[str, ...] = ()
    tools_methods: tuple[str, ...] = ()
    annotations: tuple[str, ...] = ()
    runnable: bool = False


@dataclass(frozen=True, slots=True)
class FlagShape:
    """An argument that makes the SDK itself put a volatile value into the prompt (`inject_date`).

    `cause` is an entry of the source catalogue; where `format` names an argument holding strftime
    directives, they decide between a day and a time.
    """

    argument: Argument
    cause: str
    value: bool = True
    format: Argument | None = None


@dataclass(frozen=True, slots=True)
class CallShape:
    """One way to send a request (or to define an agent that will).

    `methods` are attribute paths on a client of this file, `functions` symbols called directly,
    `constructors` classes whose construction fixes the prompt (agents). `unmistakable` methods are
    accepted on a receiver of unknown type, provided that one of the `messages`, `system` or `input`
    slots is passed by keyword.

    Slots, in cache order; the first argument that is present counts, except `system`, whose
    arguments are all sent one after another:

    - `tools`: a list of tools
    - `system`: instructions: text, blocks, a list of texts, or a callable that returns them
    - `messages`: a list of messages, or a text that stands for one user message
    - `input`: what the user says now: text or messages, after everything else

    `batch` calls send each element of a list in the `messages` slot as a request of its own.
    `parameters` maps canonical names (see `PARAMETERS`) to the arguments that carry them. `history`
    says that earlier turns follow the given messages although no argument shows them: `agent` (the
    object keeps them: a loop of tool calls, a chat; earlier runs too only where a `history_when`
    argument is true, if there are any), `server` (where the `history_when` argument is passed), or
    None. `flags`: see `FlagShape`. `hooks` are decorators on the constructed object (`instructions`,
    `system_prompt`) whose functions return further system text for each request; those in `hooks_once` are asked
    once per conversation unless the decorator says `dynamic=True`.
    """

    endpoint: str
    methods: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    constructors: tuple[str, ...] = ()
    unmistakable: tuple[str, ...] = ()
    tools: tuple[Argument, ...] = ()
    system: tuple[Argument, ...] = ()
    messages: tuple[Argument, ...] = ()
    input: tuple[Argument, ...] = ()
    parameters: dict[str, tuple[Argument, ...]] = field(default_factory=dict)
    provider: str | None = None
    history: Literal["agent", "server"] | None = None
    history_when: tuple[Argument, ...] = ()
    flags: tuple[FlagShape, ...] = ()
    hooks: tuple[str, ...] = ()
    hooks_once: tuple[str, ...] = ()
    batch: bool = False


@dataclass(frozen=True, slots=True)
class MessageShape:
    """Constructors of message objects.

    `role` is fixed, or `role_argument` carries it; where that is not passed, the role is user. `template`
    marks constructors whose content is a template (`SystemMessagePromptTemplate.from_template`).
    `placeholder` marks a list of earlier messages filled in later (`MessagesPlaceholder`); `content`
    then names the variable. `type` is what the objects' attribute of that name says (`human`).
    """

    symbols: tuple[str, ...]
    content: tuple[Argument, ...]
    role: str | None = None
    type: str | None = None
    role_argument: tuple[Argument, ...] = ()
    template: bool = False
    placeholder: bool = False


@dataclass(frozen=True, slots=True)
class BlockShape:
    """Constructors of one content block of a message.

    `text` carries its text; `media` says what it holds instead (image, audio, file). A keyword that
    is one of the SDK's `markers` sets a cache breakpoint.
    """

    symbols: tuple[str, ...]
    text: tuple[Argument, ...] = ()
    media: str | None = None


@dataclass(frozen=True, slots=True)
class TemplateShape:
    """Constructors of prompt templates.

    `kind` is text or chat. `source` carries the text or the list of messages. `format` is the
    engine unless `format_argument` says otherwise. `render` methods take the variables (as keywords
    or as one mapping), `partial` methods fix some of them, as does `partial_argument`.
    `formats_messages` says that message objects in the list are templates too, not only text and
    `(role, text)` pairs.
    """

    symbols: tuple[str, ...]
    kind: Literal["text", "chat"]
    source: tuple[Argument, ...]
    format: Literal["f-string", "jinja2", "mustache"] = "f-string"
    format_argument: Argument | None = None
    partial_argument: Argument | None = None
    render: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()
    formats_messages: bool = False


@dataclass(frozen=True, slots=True)
class EngineShape:
    """Constructors and functions of a template engine that reads Jinja templates.

    `kind` says what calling one gives: an `environment` (its `loader`, or `folders` to look for templates in), a
    `template` (of the text `source`), text that is `rendered` at once (from a template's `name` or its `source`), or
    a loader: `folders` (in `folders`), `package` (`folders` inside the package `source`), `mapping` (of names to
    texts, `source`) or `choice` (of several, `source`). `default` is a folder where none is given.
    """

    symbols: tuple[str, ...]
    kind: Literal["environment", "template", "rendered", "folders", "package", "mapping", "choice"]
    source: tuple[Argument, ...] = ()
    name: tuple[Argument, ...] = ()
    loader: tuple[Argument, ...] = ()
    folders: tuple[Argument, ...] = ()
    default: str | None = None


@dataclass(frozen=True, slots=True)
class HookShape:
    """Function decorators whose return value is the system text of each request (`@dynamic_prompt`)."""

    symbols: tuple[str, ...]
    endpoint: str


@dataclass(frozen=True, slots=True)
class RetrieverShape:
    """Methods that search an index, told by their names whatever they are called on.

    `gives` says what a call makes: the `passages` that it finds, a `retriever` that searches when it is asked, or an
    `engine` that puts what it finds into a prompt of its own. `k` names the arguments that say how many passages,
    `needs` those that a call must have to be taken for a search where the method's name alone says too little,
    `bounds` those that narrow what is found before it reaches a prompt.
    """

    methods: tuple[str, ...]
    gives: Literal["passages", "retriever", "engine"]
    k: tuple[Argument, ...]
    needs: tuple[str, ...] = ()
    bounds: tuple[Argument, ...] = ()


@dataclass(frozen=True, slots=True)
class RetrieverUseShape:
    """Functions and constructors that put what a retriever finds into a prompt, or, where `reranker` names an argument,
    give it to what reranks it first; `retriever` names the argument that holds it, `bounds` those that narrow what was
    found."""

    symbols: tuple[str, ...]
    retriever: tuple[Argument, ...]
    bounds: tuple[Argument, ...] = ()
    reranker: tuple[Argument, ...] = ()


@dataclass(frozen=True, slots=True)
class RerankerShape:
    """Classes that reorder passages and keep the best; `keeps` names the arguments that say how many."""

    symbols: tuple[str, ...]
    keeps: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class KeepingShape:
    """How an SDK keeps a conversation that no request in the code shows.

    `kind` says what `symbols` are: a `memory` is a class whose objects keep every message, in use where one is passed
    as one of the `arguments`; a `run` is a function that is given the conversation in one of the `arguments`, and whose
    result gives it back, longer, by one of the methods `returns`; a `checkpoint` is a function that makes what keeps
    its conversations where one of the `arguments` is passed, unless one of `bounds` is passed too. `methods` of a
    checkpoint are told by their names.
    """

    kind: Literal["memory", "run", "checkpoint"]
    arguments: tuple[Argument, ...]
    symbols: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    returns: tuple[str, ...] = ()
    bounds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sdk:
    """One file of facts with its provenance: package version read, source and date (ISO).

    `packages` are import roots (globs) that make a file worth reading. `markers` are keys of content
    blocks and tools that set an explicit cache breakpoint, `caching` tells whether the provider
    caches prefixes by itself. `transparent` attributes may stand anywhere on the way from a client
    to a method and change how the answer comes, not what is sent (`with_raw_response`). `constants` are symbols of
    text that the SDK itself ships. `sends` is false for a library that only makes text: a file that imports no other
    sends no request.
    """

    name: str
    packages: tuple[str, ...]
    version: str
    source: str
    date: str
    provider: str | None = None
    caching: Literal["automatic", "explicit", "unknown"] = "unknown"
    markers: tuple[str, ...] = ()
    transparent: tuple[str, ...] = ()
    clients: tuple[ClientShape, ...] = ()
    calls: tuple[CallShape, ...] = ()
    messages: tuple[MessageShape, ...] = ()
    blocks: tuple[BlockShape, ...] = ()
    templates: tuple[TemplateShape, ...] = ()
    hooks: tuple[HookShape, ...] = ()
    constants: tuple[str, ...] = ()
    engines: tuple[EngineShape, ...] = ()
    retrievers: tuple[RetrieverShape, ...] = ()
    retriever_uses: tuple[RetrieverUseShape, ...] = ()
    rerankers: tuple[RerankerShape, ...] = ()
    keeping: tuple[KeepingShape, ...] = ()
    sends: bool = True
