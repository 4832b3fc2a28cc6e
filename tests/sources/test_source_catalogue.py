"""The source catalogue: what it knows, what it refuses to guess."""

from __future__ import annotations

import pytest

from promptopt.config import SourceFunction
from promptopt.errors import ConfigError
from promptopt.prompt import Volatility
from promptopt.sources import load_sources
from promptopt.sources.schema import Source


def _kind(source: Source | None) -> str | None:
    return source.kind if source else None


@pytest.mark.parametrize(
    ("dotted", "kind"),
    [
        ("datetime.datetime.now", "time-of-day"),
        ("datetime.datetime.utcnow", "time-of-day"),
        ("datetime.datetime.today", "time-of-day"),
        ("datetime.date.today", "date"),
        ("time.time", "time-of-day"),
        ("time.perf_counter", "timer"),
        ("pandas.Timestamp.now", "time-of-day"),
        ("pendulum.now", "time-of-day"),
        ("arrow.utcnow", "time-of-day"),
        ("django.utils.timezone.now", "time-of-day"),
        ("django.utils.timezone.localdate", "date"),
        ("uuid.uuid4", "random-id"),
        ("uuid.uuid5", None),
        ("secrets.token_hex", "random-id"),
        ("random.choice", "random-value"),
        ("random.shuffle", "random-order"),
        ("random.sample", "random-order"),
        ("random.seed", None),
        ("numpy.random.randint", "random-value"),
        ("os.urandom", "random-value"),
        ("tempfile.mkdtemp", "temporary-name"),
        ("tempfile.gettempdir", "working-directory"),
        ("os.getenv", "environment"),
        ("os.environ.get", "environment"),
        ("socket.gethostname", "host-name"),
        ("os.getpid", "process-id"),
        ("os.getcwd", "working-directory"),
        ("pathlib.Path.cwd", "working-directory"),
        ("platform.system", "platform"),
        ("platform.node", "host-name"),
        ("os.listdir", "directory-order"),
        ("glob.glob", "directory-order"),
        ("pathlib.Path.rglob", "directory-order"),
        ("asyncio.as_completed", "completion-order"),
        ("builtins.id", "object-address"),
        ("builtins.hash", "string-hash"),
        ("builtins.input", "user-words"),
        ("streamlit.chat_input", "user-words"),
        ("streamlit.sidebar.text_input", "user-words"),
        ("flask.request.get_json", "web-request"),
        ("chainlit.user_session.get", "agent-state"),
        ("psutil.virtual_memory", "machine-load"),
        ("itertools.count", None),
        ("requests.get", None),
        ("builtins.sorted", None),
    ],
)
def test_functions(dotted: str, kind: str | None) -> None:
    """What calling a resolved name yields, methods of source attributes included."""
    assert _kind(load_sources().function(dotted)) == kind


@pytest.mark.parametrize(
    ("dotted", "positional", "kind"),
    [
        ("time.localtime", 0, "time-of-day"),
        ("time.localtime", 1, None),
        ("time.strftime", 1, "time-of-day"),
        ("time.strftime", 2, None),
        ("time.ctime", 1, None),
        ("arrow.get", 0, "time-of-day"),
        ("arrow.get", 1, None),
        ("django.utils.timezone.localtime", 1, None),
        ("datetime.datetime.now", 1, "time-of-day"),
    ],
)
def test_converting_a_given_moment_reads_no_clock(dotted: str, positional: int, kind: str | None) -> None:
    """`time.localtime(stamp)` says no more than `stamp`: it passes the argument on instead."""
    sources = load_sources()
    assert _kind(sources.function(dotted, positional)) == kind
    if kind is None and dotted.startswith("time."):
        assert sources.passes_function(dotted)


@pytest.mark.parametrize(
    ("dotted", "kind"),
    [
        ("sys.argv", "command-line"),
        ("os.environ", "environment"),
        ("sys.version_info.major", "release"),
        ("sys.platform", "platform"),
        ("flask.request", "web-request"),
        ("flask.request.args", "web-request"),
        ("flask.g.user.name", "user-identity"),
        ("flask.g", "agent-state"),
        ("streamlit.session_state.name", "agent-state"),
        ("django.conf.settings.TONE", "configuration"),
        ("sys.path", None),
        ("os.path", None),
        ("os", None),
    ],
)
def test_attributes(dotted: str, kind: str | None) -> None:
    """What reading a resolved name, or a member of it, yields."""
    assert _kind(load_sources().attribute(dotted)) == kind


@pytest.mark.parametrize(
    ("dotted", "kind"),
    [
        ("agents.RunContextWrapper", "agent-state"),
        ("pydantic_ai.RunContext", "agent-state"),
        ("fastapi.Request", "web-request"),
        ("starlette.websockets.WebSocket", "web-request"),
        ("django.http.HttpRequest", "web-request"),
        ("chainlit.Message", "chat-message"),
        ("discord.ext.commands.Context", "chat-message"),
        ("google.adk.agents.readonly_context.ReadonlyContext", "agent-state"),
        ("builtins.str", None),
        ("openai.OpenAI", None),
    ],
)
def test_annotations(dotted: str, kind: str | None) -> None:
    """What a parameter of this type is."""
    assert _kind(load_sources().annotation(dotted)) == kind


@pytest.mark.parametrize(
    ("identifier", "kind"),
    [
        ("now", "time-of-day"),
        ("$now", "time-of-day"),
        ("_now", "time-of-day"),
        ("NOW", "time-of-day"),
        ("current_time", "time-of-day"),
        ("currentTime", "time-of-day"),
        ("CURRENT_DATETIME", "time-of-day"),
        ("today", "date"),
        ("current_date", "date"),
        ("user_name", "user-identity"),
        ("userName", "user-identity"),
        ("username", "user-identity"),
        ("USER_ID", "user-identity"),
        ("customer_name", "user-identity"),
        ("user_preferences", "user-preferences"),
        ("session_id", "session-id"),
        ("conversation_id", "session-id"),
        ("chat_history", "conversation-history"),
        ("messages", "conversation-history"),
        ("state", "agent-state"),
        ("memories", "memories"),
        ("question", "user-words"),
        ("user_input", "user-words"),
        ("docs", "retrieved-passages"),
        ("context", "retrieved-passages"),
        ("retrieved_chunks", "retrieved-passages"),
        ("input_text", "input-text"),
        ("settings", "configuration"),
        ("request_id", "random-id"),
    ],
)
def test_names(identifier: str, kind: str) -> None:
    """Names match whole, whatever their case and style; templates know all of them too."""
    assert _kind(load_sources().name(identifier)) == kind
    assert _kind(load_sources().template_name(identifier)) == kind


@pytest.mark.parametrize(
    "identifier",
    [
        # Text of the application itself, or anything at all.
        *["text", "data", "content", "name", "topic", "language", "tone", "format", "instructions", "role"],
        *["persona", "model", "date_string", "version", "schema", "rules", "examples", "guidelines", "title"],
        *["description", "output_format", "format_instructions", "system_prompt", "prompt", "tools", "tool_names"],
        *["table_name", "entity_types", "response_type", "max_length", "path", "url", "section", "domain"],
        *["id", "key", "value", "field", "label", "type", "index", "count", "size", "limit", "code", "task"],
        # Words that hold a listed name without being one.
        *["nowhere", "known", "renown", "todays_special", "users", "users_guide", "historical", "context_window"],
        *["questionnaire", "query_builder", "document_type", "doc_id", "timestamped", "current", "session", "in_pr"],
        *["context_length", "message_format", "max_context", "chunk_size", "chunk_overlap", "num_docs", "memory_limit"],
        "",
        "_",
        "$",
    ],
)
def test_names_that_say_nothing(identifier: str) -> None:
    """A guess that is often wrong is not made, in code or in templates."""
    assert load_sources().name(identifier) is None
    assert load_sources().template_name(identifier) is None


@pytest.mark.parametrize(
    ("identifier", "kind"),
    [
        ("time", "time-of-day"),
        ("$TIME", "time-of-day"),
        (" $now ", "time-of-day"),
        ("datetime", "time-of-day"),
        ("timestamp", "time-of-day"),
        ("date", "date"),
        ("$date", "date"),
        ("uuid", "random-id"),
        ("random", "random-value"),
    ],
)
def test_template_variables_that_nobody_renders(identifier: str, kind: str) -> None:
    """`{{ time }}` is filled in by the program that hosts the template, with the time it has."""
    assert _kind(load_sources().template_name(identifier)) == kind


@pytest.mark.parametrize("identifier", ["time", "datetime", "timestamp", "date", "uuid", "random", "clock"])
def test_in_code_these_may_be_any_moment_or_a_module(identifier: str) -> None:
    """A parameter `timestamp` is as often the stamp of a record as that of the request."""
    assert load_sources().name(identifier) is None


@pytest.mark.parametrize(
    ("base", "attribute", "kind"),
    [
        ("user", "name", "user-identity"),
        ("user", "email", "user-identity"),
        ("self.user", "name", "user-identity"),
        ("User", "first_name", "user-identity"),
        ("current_user", "id", "user-identity"),
        ("profile", "last_name", "user-identity"),
        ("anything", "user_id", "user-identity"),
        ("request", "user", "user-identity"),
        ("request", "json", "web-request"),
        ("request", "query_params", "web-request"),
        ("state", "messages", "conversation-history"),
        ("state", "question", "user-words"),
        ("state", "documents", "retrieved-passages"),
        ("state", "user_id", "user-identity"),
        ("state", "seat_number", "agent-state"),
        ("run_context", "context", "agent-state"),
        ("ctx", "deps", "agent-state"),
        ("config", "tone", "configuration"),
        ("settings", "COMPANY", "configuration"),
        ("config", "thread_id", "session-id"),
        ("doc", "page_content", "retrieved-passages"),
        ("folder", "iterdir", "directory-order"),
        ("base_path", "rglob", "directory-order"),
        ("repo.git", "status", "working-tree"),
    ],
)
def test_members(base: str, attribute: str, kind: str) -> None:
    """What a member of an unresolved object carries."""
    assert _kind(load_sources().member(base, attribute)) == kind


@pytest.mark.parametrize(
    ("base", "attribute"),
    [
        ("client", "messages"),
        ("client.chat", "completions"),
        ("self", "name"),
        ("product", "name"),
        ("repo", "full_name"),
        ("response", "text"),
        ("agent", "instructions"),
        ("request", "method"),
        ("db", "query"),
        ("collection", "documents"),
        ("support", "email"),
        ("tool", "description"),
    ],
)
def test_members_that_say_nothing(base: str, attribute: str) -> None:
    """Above all, nothing on the way to a call is taken for a value that changes."""
    assert load_sources().member(base, attribute) is None


@pytest.mark.parametrize(
    ("kind", "member", "to"),
    [
        ("time-of-day", "date", "date"),
        ("time-of-day", "year", "month"),
        ("time-of-day", "normalize", "date"),
        ("time-of-day", "to_date_string", "date"),
        ("time-of-day", "tm_yday", "date"),
        ("time-of-day", "tzinfo", "time-zone"),
        ("time-of-day", "hour", "time-of-day"),
        ("time-of-day", "isoformat", "time-of-day"),
        ("time-of-day", "astimezone", "time-of-day"),
        ("date", "year", "month"),
        ("random-id", "hex", "random-id"),
        ("agent-state", "messages", "conversation-history"),
        ("agent-state", "store", "long-term-store"),
        ("configuration", "user_id", "user-identity"),
        ("web-request", "user", "user-identity"),
        ("no-such-kind", "year", "no-such-kind"),
    ],
)
def test_narrowing(kind: str, member: str, to: str) -> None:
    """Reading a member leaves what it still tells; an unknown member leaves all."""
    assert load_sources().narrow(kind, member) == to


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("git status --short", "working-tree"),
        (["git", "status", "--short"], "working-tree"),
        (["git", "diff"], "working-tree"),
        (["git", "rev-parse", "HEAD"], "commit"),
        (["git", "rev-parse", "--show-toplevel"], "working-directory"),
        ("git branch --show-current", "commit"),
        ("date", "time-of-day"),
        ("hostname", "host-name"),
        ("python --version", "release"),
        ("python train.py", None),
        ("gitk", None),
        ("", None),
        ([], None),
    ],
)
def test_commands(line: str | list[str], kind: str | None) -> None:
    """The working tree changes with every edit, the commit only with a commit."""
    assert _kind(load_sources().command(line)) == kind


def test_what_runs_commands() -> None:
    """The functions whose first argument is a command line."""
    sources = load_sources()
    assert sources.runs_command("subprocess.check_output")
    assert sources.runs_command("os.popen")
    assert not sources.runs_command("os.listdir")


def test_volatility_of_the_main_kinds() -> None:
    """The levels that rules compare with."""
    levels = {
        Volatility.CALL: ["time-of-day", "random-id", "random-value", "random-order", "counter", "completion-order"],
        Volatility.REQUEST: ["user-words", "web-request", "retrieved-passages", "working-tree", "model-output"],
        Volatility.SESSION: ["session-id", "conversation-history", "agent-state", "memories"],
        Volatility.USER: ["user-identity", "user-preferences", "long-term-store"],
        Volatility.DAY: ["date"],
        Volatility.PROCESS: ["set-order", "directory-order", "json-key-order", "object-address", "working-directory"],
        Volatility.DEPLOYMENT: ["environment", "configuration", "release"],
    }
    for level, kinds in levels.items():
        for kind in kinds:
            assert load_sources().kind(kind).volatility is level, kind


def test_an_unknown_kind_is_an_error() -> None:
    """A misspelt kind in a rule does not pass for a value that never changes."""
    with pytest.raises(KeyError):
        load_sources().kind("time-of-the-day")


def test_functions_that_pass_their_input_on() -> None:
    """Text functions, conversions and digests change when their input does; unknown functions may do anything."""
    sources = load_sources()
    for dotted in (
        *["builtins.str", "builtins.repr", "json.dumps", "textwrap.dedent", "html.escape", "xml.sax.saxutils.escape"],
        *["re.sub", "copy.deepcopy", "builtins.list", "builtins.dict.fromkeys", "builtins.max", "hashlib.sha256"],
        *["uuid.uuid5", "datetime.datetime.fromtimestamp", "asyncio.gather"],
    ):
        assert sources.passes_function(dotted), dotted
    for dotted in ("builtins.len", "builtins.print", "requests.get", "random.choice", "uuid.uuid4"):
        assert not sources.passes_function(dotted), dotted
    for method in ("strip", "upper", "join", "format", "isoformat", "hexdigest", "model_dump_json"):
        assert sources.passes_method(method), method
    for method in ("create", "invoke", "append", "startswith", "count"):
        assert not sources.passes_method(method), method


def test_functions_that_fix_an_order() -> None:
    """`sorted` does; `list` and `reversed` keep whatever order there was."""
    sources = load_sources()
    assert sources.orders("builtins.sorted")
    assert sources.orders("natsort.natsorted")
    for dotted in ("builtins.list", "builtins.reversed", "builtins.dict.fromkeys", "json.dumps"):
        assert not sources.orders(dotted), dotted


def test_functions_that_give_a_size() -> None:
    """A number or flag has no order; a digest of a volatile value is as volatile as the value."""
    sources = load_sources()
    for dotted in ("builtins.len", "builtins.bool", "builtins.isinstance", "builtins.any", "startswith", "count"):
        assert sources.sizes(dotted), dotted
    for dotted in ("hashlib.sha256", "builtins.str", "builtins.max", "strip"):
        assert not sources.sizes(dotted), dotted


def test_caching_decorators() -> None:
    """Values behind these are computed once per process."""
    sources = load_sources()
    for dotted in ("functools.lru_cache", "functools.cache", "streamlit.cache_data", "cachetools.cached"):
        assert sources.caching_decorator(dotted), dotted
    assert not sources.caching_decorator("functools.wraps")


def test_project_sources_are_found_under_any_root() -> None:
    """A file's folder may or may not be part of the name that it is imported by."""
    sources = load_sources().with_project_sources(
        [SourceFunction("app.clock.now_text", Volatility.CALL, "time-of-day")]
    )
    for dotted in ("app.clock.now_text", "src.app.clock.now_text", "app.v2.clock.now_text"):
        assert _kind(sources.function(dotted)) == "time-of-day"
    assert load_sources().function("app.clock.now_text") is None


def test_a_project_source_keeps_what_it_says_of_itself() -> None:
    """Two functions of one kind may change differently; the shipped kind stays what it is."""
    sources = load_sources().with_project_sources(
        [
            SourceFunction("app.clock.hour", Volatility.CALL, "time-of-day"),
            SourceFunction("app.clock.day", Volatility.DAY, "time-of-day"),
            SourceFunction("app.tenant.tone", Volatility.USER),
            SourceFunction("app.build.number", Volatility.DEPLOYMENT, label="the build number"),
        ]
    )
    told = {}
    for dotted in ("app.clock.hour", "app.clock.day", "app.tenant.tone", "app.build.number"):
        found = sources.function(dotted)
        assert found is not None
        entry = sources.kind(found.kind)
        told[dotted] = (entry.label, entry.volatility)
    assert told == {
        "app.clock.hour": ("the time of day", Volatility.CALL),
        "app.clock.day": ("the time of day", Volatility.DAY),
        "app.tenant.tone": ("the result of app.tenant.tone()", Volatility.USER),
        "app.build.number": ("the build number", Volatility.DEPLOYMENT),
    }
    assert sources.kind("time-of-day").volatility is Volatility.CALL


def test_project_sources_can_replace_a_shipped_one() -> None:
    """An application that freezes its clock says so."""
    sources = load_sources().with_project_sources([SourceFunction("datetime.datetime.now", Volatility.PROCESS)])
    found = sources.function("datetime.datetime.now")
    assert found is not None
    assert found.volatility is Volatility.PROCESS


def test_a_bare_name_is_a_function_or_method_anywhere() -> None:
    """`now_text` stands for `self.clock.now_text()` too."""
    sources = load_sources().with_project_sources([SourceFunction("now_text", Volatility.CALL, label="the stamp")])
    for found in (sources.function("app.clock.now_text"), sources.member("self.clock", "now_text")):
        assert found is not None
        assert found.label == "the stamp"


def test_no_project_sources_change_nothing() -> None:
    """All answers stay."""
    sources = load_sources().with_project_sources([])
    assert _kind(sources.function("datetime.datetime.now")) == "time-of-day"


@pytest.mark.parametrize("function", ["", "app.", "app clock", "1app.x", "app..x"])
def test_a_project_source_is_a_dotted_name(function: str) -> None:
    """Anything else in the configuration ends the run with its name."""
    with pytest.raises(ConfigError, match=r"^sources: .* is not a function such as app\.clock\.stamp$"):
        load_sources().with_project_sources([SourceFunction(function, Volatility.CALL)])
