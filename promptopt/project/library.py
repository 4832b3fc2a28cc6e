"""Calls of builtins and libraries: carried out where they build text, lists or mappings, looked up in the
source and SDK catalogues otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from promptopt.project import classes, conditions, files, indexing, members, methods, strings, templating
from promptopt.project.iteration import element, known_items, picked, spliced
from promptopt.project.values import (
    NONE,
    AgainItems,
    Alternatives,
    Arguments,
    CallResult,
    Constant,
    Derived,
    Fixed,
    Hole,
    Items,
    Lazy,
    MapValue,
    Member,
    Place,
    Sequence,
    Splice,
    TextValue,
    Unknown,
    Value,
    Volatile,
    alternatives,
    is_none,
    literal,
    plain,
    plain_options,
)
from promptopt.prompt import Volatility

if TYPE_CHECKING:
    from promptopt.project.evaluate import Evaluator
    from promptopt.project.frames import Frame


class _Site:
    """One call of a library function."""

    def __init__(self, ev: Evaluator, dotted: str, arguments: Arguments, place: Place, frame: Frame | None) -> None:
        self.ev = ev
        self.dotted = dotted
        self.arguments = arguments
        self.place = place
        self.frame = frame

    def given(self, index: int, keyword: str = "") -> Value | None:
        """An argument by position or keyword; None where it is not passed."""
        if keyword in self.arguments.keywords:
            return self.ev.force(self.arguments.keywords[keyword])
        if index < len(self.arguments.positional):
            return self.ev.force(self.arguments.positional[index])
        return None

    def where(self, index: int) -> Place:
        """Where a positional argument stands."""
        given = self.arguments.positional[index] if index < len(self.arguments.positional) else None
        return given.place if isinstance(given, Lazy) else self.place


def text_of(ev: Evaluator, argument: Lazy | Value) -> str | None:
    """A constant string argument."""
    return plain(ev.force(argument))


def call(ev: Evaluator, dotted: str, arguments: Arguments, place: Place, frame: Frame | None) -> Value:
    """What a library's function returns."""
    site = _Site(ev, dotted, arguments, place, frame)
    handler = _FUNCTIONS.get(dotted)
    if handler is not None:
        return handler(site)
    source = ev.sources.function(dotted, len(arguments.positional))
    if source is not None:
        return _sourced(site, source.kind)
    template = templating.made(ev, dotted, arguments, place, frame)
    if template is not None:
        return template
    if _is_sdk(ev, dotted):
        return CallResult(dotted, arguments, place)
    if ev.sdks.function(dotted) is not None:
        return ev.volatile("model-output", place, frame)
    if ev.sources.runs_command(dotted):
        return _command(site)
    if ev.sources.sizes(dotted):
        return Derived("size", methods.everything(ev, arguments), place)
    if ev.sources.passes_function(dotted):
        return Derived(dotted, methods.everything(ev, arguments), place)
    return CallResult(dotted, arguments, place)


def _is_sdk(ev: Evaluator, dotted: str) -> bool:
    sdks = ev.sdks
    return any(find(dotted) for find in (sdks.client, sdks.message, sdks.block, sdks.template, sdks.constructor))


def _sourced(site: _Site, kind: str) -> Value:
    ev = site.ev
    if kind in ("environment", "configuration"):
        default = site.given(1, "default")
        if isinstance(default, TextValue):
            return default
        return ev.volatile(kind, site.place, site.frame)
    if kind in ("random-value", "random-order") and _seeded(site):
        return Fixed("seeded random", place=site.place)
    if kind == "directory-order":
        order = ev.volatile(kind, site.place, site.frame)
        return Sequence("list", (Splice(Fixed("directory", place=site.place), site.place),), order, site.place)
    if kind == "random-order":
        given = site.given(0)
        items = spliced(given, site.place) if given is not None else ()
        return Sequence("list", items, ev.volatile(kind, site.place, site.frame), site.place)
    return ev.volatile(kind, site.place, site.frame)


def _seeded(site: _Site) -> bool:
    """Whether the module calls `random.seed(...)` with a constant."""
    return site.ev.world.seeds(site.place.path)


def _command(site: _Site) -> Value:
    given = site.given(0, "args")
    words: list[str] | str | None = plain(given) if given is not None else None
    if isinstance(given, Sequence):
        first = [plain(item) for item in given.items if isinstance(item, Value)]
        words = [word for word in first if word is not None]
    source = site.ev.sources.command(words) if words else None
    return site.ev.volatile(source.kind, site.place, site.frame) if source else Unknown("command", place=site.place)


def _str(site: _Site) -> Value:
    given = site.given(0, "object")
    if given is None:
        return literal("")
    given = classes.shown(site.ev, given)
    pieces = strings.to_pieces(given, site.where(0), site.ev.text(site.where(0)))
    return given if len(pieces) == 1 and isinstance(pieces[0], Hole) else TextValue(pieces)


def _sequence(kind: str) -> Callable[[_Site], Value]:
    def make(site: _Site) -> Value:
        given = site.given(0)
        if given is None:
            return Sequence(kind, (), None, site.place)
        order = given.order if isinstance(given, Sequence) else None
        items = given.items if isinstance(given, Sequence) else spliced(given, site.where(0))
        if kind == "set" and order is None and (len(items) != 1 or not isinstance(items[0], Value)) and items:
            order = site.ev.volatile("set-order", site.place, site.frame)
        return Sequence(kind, items, order, site.place)

    return make


def _dict(site: _Site) -> Value:
    given = site.given(0)
    entries = {key: site.ev.force(value) for key, value in site.arguments.keywords.items()}
    rest = tuple(site.ev.force(value) for value in site.arguments.rest)
    if given is None:
        return MapValue(entries, rest, site.place)
    if isinstance(given, MapValue):
        return MapValue({**given.entries, **entries}, (*given.rest, *rest), site.place)
    return MapValue(entries, (*rest, given), site.place)


def _sorted(site: _Site) -> Value:
    given = site.given(0)
    if isinstance(given, Sequence):
        items = given.items if site.arguments.keywords else _in_order(given.items)
        return Sequence("list", items, None, site.place)
    return Sequence(
        "list", (Splice(given if given is not None else Unknown("argument"), site.where(0)),), None, site.place
    )


def _in_order(items: Items) -> Items:
    """Constant texts sorted; anything else as it is, for its order is fixed all the same."""
    texts = [plain(item) if isinstance(item, Value) else None for item in items]
    known = [text for text in texts if text is not None]
    if len(known) < len(items):
        return items
    return tuple(items[index] for index in sorted(range(len(items)), key=known.__getitem__))


def _reversed(site: _Site) -> Value:
    given = site.given(0)
    if isinstance(given, Sequence):
        return Sequence("list", tuple(reversed(given.items)), given.order, site.place)
    return Derived("reversed", (given,) if given is not None else (), site.place)


def _enumerate(site: _Site) -> Value:
    """Indices are not volatile: pairs of an unknown number and the element."""
    given = site.given(0)
    items = known_items(given) if given is not None else None
    if items is not None:
        pairs = (Sequence("tuple", (Constant(index), item)) for index, item in enumerate(items))
        return Sequence("list", tuple(pairs), None, site.place)
    order = given.order if isinstance(given, Sequence) else None
    one = element(site.ev, given, site.where(0)) if given is not None else Unknown("argument")
    pair = Sequence("tuple", (Fixed("index"), one))
    return Sequence("list", (AgainItems("", given or one, site.ev.text(site.where(0)), (pair,)),), order, site.place)


def _zip(site: _Site) -> Value:
    columns = [site.ev.force(argument) for argument in site.arguments.positional]
    known = [known_items(column) for column in columns]
    if all(column is not None for column in known):
        rows = zip(*(column or [] for column in known), strict=False)
        return Sequence("list", tuple(Sequence("tuple", tuple(row)) for row in rows), None, site.place)
    pair = Sequence("tuple", tuple(element(site.ev, column, site.place) for column in columns))
    over = Derived("zip", tuple(columns), site.place)
    return Sequence("list", (AgainItems("", over, site.ev.text(site.place), (pair,)),), None, site.place)


def _range(site: _Site) -> Value:
    return Sequence("list", (Splice(Fixed("index", place=site.place), site.place),), None, site.place)


def _map(site: _Site) -> Value:
    given = site.given(1)
    function = site.given(0)
    if given is None or function is None:
        return Unknown("map")
    items = known_items(given)
    if items is not None:
        results = tuple(site.ev.world.apply(function, (item,), site.place, site.frame, site.ev) for item in items)
        return Sequence("list", results, None, site.place)
    one = element(site.ev, given, site.where(1))
    result = site.ev.world.apply(function, (one,), site.place, site.frame, site.ev)
    order = given.order if isinstance(given, Sequence) else None
    again = AgainItems("", given, site.ev.text(site.where(1)), (result,))
    return Sequence("list", (again,), order, site.place)


def _filter(site: _Site) -> Value:
    given, function = site.given(1), site.given(0)
    if given is None or function is None:
        return Unknown("filter")

    def passes(one: Value) -> bool | None:
        if is_none(function):
            return conditions.truth(one)
        return conditions.truth(site.ev.world.apply(function, (one,), site.place, site.frame, site.ev))

    order = given.order if isinstance(given, Sequence) else None
    return Sequence("list", picked(site.ev, given, passes, site.where(1)), order, site.place)


def _getattr(site: _Site) -> Value:
    base, name = site.given(0), site.given(1)
    if base is None or name is None:
        return Unknown("argument")
    options = tuple(site.ev.attribute(base, one, site.place) for one in plain_options(name) if one)
    found = alternatives("getattr", options, limit=indexing.MAX_DISPATCH) if options else Unknown("getattr")
    default = site.given(2)
    if default is None or not isinstance(found, (Member, Unknown)):
        return found
    return found if default is NONE else alternatives(site.ev.text(site.place), (found, default))


def _import_module(site: _Site) -> Value:
    """A module that is imported by its name at run time, in the project or a library."""
    name = site.given(0, "name")
    options = name.values if isinstance(name, Alternatives) else (name,)
    found = []
    for option in options:
        text = plain(option) if option is not None else None
        if text is None:
            return CallResult(site.dotted, site.arguments, site.place)
        level = len(text) - len(text.lstrip("."))
        binding = (text.lstrip("."), None, text, level)
        found.append(site.ev.world.imported(site.place.path, binding, site.ev))
    return alternatives("import_module", tuple(found))


def _json(site: _Site) -> Value:
    given = site.given(0, "obj")
    if given is None:
        return Unknown("argument")
    keys = site.given(-1, "sort_keys") if "sort_keys" in site.arguments.keywords else None
    is_sorted = isinstance(keys, Constant) and bool(keys.value)
    option = site.given(-1, "option") if "option" in site.arguments.keywords else None
    return Derived("json", (given,), site.place, ordered=is_sorted or option is not None or site.arguments.rest != ())


def _dedent(site: _Site) -> Value:
    given = site.given(0, "text")
    if isinstance(given, TextValue):
        return methods.dedented(given, clean=site.dotted.endswith("cleandoc"))
    return Derived("dedent", (given,) if given is not None else (), site.place)


def _indent(site: _Site) -> Value:
    given, prefix = site.given(0, "text"), site.given(1, "prefix")
    mark = plain(prefix) if prefix is not None else None
    if isinstance(given, TextValue) and mark is not None:
        return strings.transform(given, lambda text: "".join(mark + line for line in text.splitlines(keepends=True)))
    return Derived("indent", (given,) if given is not None else (), site.place)


def _format(site: _Site) -> Value:
    given, spec = site.given(0), site.given(1)
    if given is None:
        return Unknown("argument")
    directives = plain(spec) if spec is not None else None
    return members.formatted(site.ev, given, "__format__", directives, site.place, site.frame)


def _strftime(site: _Site) -> Value:
    directives = site.given(0, "format")
    stamp = site.given(1, "t")
    if stamp is not None and not isinstance(stamp, Volatile):
        return Derived("strftime", (stamp,), site.place)
    now = site.ev.volatile("time-of-day", site.place, site.frame)
    text = plain(directives) if directives is not None else None
    return members.formatted(site.ev, now, "strftime", text, site.place, site.frame)


def _first(site: _Site) -> Value:
    given = site.given(0)
    return given if given is not None else Unknown("argument")


def _second(site: _Site) -> Value:
    given = site.given(1, "val")
    return given if given is not None else Unknown("argument")


def _gather(site: _Site) -> Value:
    items = tuple(site.ev.force(argument) for argument in site.arguments.positional)
    tail = (Splice(Unknown("star")),) if site.arguments.open else ()
    return Sequence("list", (*items, *tail), None, site.place)


def _chained(site: _Site) -> Value:
    items = tuple(one for argument in site.arguments.positional for one in spliced(site.ev.force(argument), site.place))
    return Sequence("list", items, None, site.place)


def _joined_path(site: _Site) -> Value:
    parts = [plain(site.ev.force(argument)) for argument in site.arguments.positional]
    if all(part is not None for part in parts):
        return literal("/".join(part or "" for part in parts), site.place)
    known = [site.ev.force(argument) for argument in site.arguments.positional]
    if files.base_of(site.ev, known[0]) is not None and None not in parts[1:]:
        return CallResult("pathlib.Path", Arguments(tuple(known)), site.place)
    return Derived("path", tuple(known), site.place)


def _number(site: _Site) -> Value:
    """A number read from a text is a setting more often than what a person says."""
    given = site.given(0)
    if isinstance(given, Volatile) and given.volatility is Volatility.CALL:
        return given
    return Unknown("number", place=site.place)


def _kept(site: _Site) -> Value:
    """The call itself: methods and `next` look into it."""
    return CallResult(site.dotted, site.arguments, site.place)


def _next(site: _Site) -> Value:
    given = site.given(0)
    if isinstance(given, CallResult) and given.dotted == "itertools.count":
        return site.ev.volatile("counter", site.place, site.frame)
    if isinstance(given, Sequence) and given.order is None and given.items and isinstance(given.items[0], Value):
        return given.items[0]
    return element(site.ev, given, site.place) if given is not None else Unknown("argument")


def _random(site: _Site) -> Value:
    if site.given(0, "x") is not None:
        return Fixed("seeded random", place=site.place)
    return CallResult(site.dotted, site.arguments, site.place)


def _opened(site: _Site) -> Value:
    return CallResult("builtins.open", site.arguments, site.place)


def _regex(site: _Site) -> Value:
    """`re.sub` on constant text with a constant replacement is not carried out: patterns are unbounded work."""
    replacement, text = site.given(1, "repl"), site.given(2, "string")
    inputs = tuple(value for value in (text, replacement) if value is not None)
    return Derived("re.sub", inputs, site.place)


_FUNCTIONS: Final[dict[str, Callable[[_Site], Value]]] = {
    "builtins.str": _str,
    "builtins.list": _sequence("list"),
    "builtins.tuple": _sequence("tuple"),
    "builtins.set": _sequence("set"),
    "builtins.frozenset": _sequence("set"),
    "collections.deque": _sequence("list"),
    "builtins.iter": _sequence("list"),
    "builtins.dict": _dict,
    "collections.OrderedDict": _dict,
    "types.MappingProxyType": _dict,
    "builtins.sorted": _sorted,
    "builtins.reversed": _reversed,
    "builtins.enumerate": _enumerate,
    "builtins.zip": _zip,
    "builtins.range": _range,
    "builtins.map": _map,
    "builtins.filter": _filter,
    "builtins.getattr": _getattr,
    "builtins.__import__": _import_module,
    "importlib.import_module": _import_module,
    "builtins.format": _format,
    "builtins.next": _next,
    "builtins.int": _number,
    "builtins.float": _number,
    "pathlib.Path": _kept,
    "pathlib.PurePath": _kept,
    "itertools.count": _kept,
    "builtins.open": _opened,
    "io.open": _opened,
    "codecs.open": _opened,
    "aiofiles.open": _opened,
    "json.dumps": _json,
    "orjson.dumps": _json,
    "ujson.dumps": _json,
    "simplejson.dumps": _json,
    "textwrap.dedent": _dedent,
    "inspect.cleandoc": _dedent,
    "textwrap.indent": _indent,
    "time.strftime": _strftime,
    "copy.copy": _first,
    "copy.deepcopy": _first,
    "asyncio.run": _first,
    "asyncio.wait_for": _first,
    "asyncio.shield": _first,
    "asyncio.create_task": _first,
    "asyncio.ensure_future": _first,
    "builtins.memoryview": _first,
    "typing.cast": _second,
    "asyncio.gather": _gather,
    "itertools.chain": _chained,
    "os.path.join": _joined_path,
    "random.Random": _random,
    "re.sub": _regex,
}
