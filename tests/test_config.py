"""Configuration: discovery, every key, and one clear line for everything that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptopt.config import Budget, Config, SinkFunction, SourceFunction, load_config
from promptopt.errors import ConfigError
from promptopt.finding import Severity
from promptopt.prompt import Volatility

FULL = """
[tool.promptopt]
select = ["ALL"]
extend-select = ["PO114"]
ignore = ["unstable-order"]
preview = true
include = ["src/"]
exclude = ["src/vendored/"]
model = "gpt-5"
encoding = "o200k_base"
per-file-ignores = {"tests/**" = ["cache"]}
severity = {unstable-order = "error"}
budgets = {"prompts/answer.j2" = 800}

[tool.promptopt.rules.volatile-prefix]
min-static-tokens = 512

[[tool.promptopt.sources]]
function = "app.clock.stamp"
volatility = "call"
label = "the stamp"

[[tool.promptopt.sinks]]
function = "app.llm.ask"
prompt = 0
system = "instructions"
"""


def write(file: Path, text: str) -> Path:
    """Create a file and its folders."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    return file


def test_every_key_is_read(tmp_path: Path) -> None:
    """Each documented key ends up in its field, in the type that the run works with."""
    file = write(tmp_path / "pyproject.toml", FULL)
    assert load_config([tmp_path]) == Config(
        root=tmp_path,
        file=file,
        select=("ALL",),
        extend_select=("PO114",),
        ignore=("unstable-order",),
        preview=True,
        include=("src/",),
        exclude=("src/vendored/",),
        model="gpt-5",
        encoding="o200k_base",
        per_file_ignores=(("tests/**", ("cache",)),),
        severity={"unstable-order": Severity.ERROR},
        budgets={"prompts/answer.j2": Budget(800)},
        rules={"volatile-prefix": {"min-static-tokens": 512}},
        sources=(SourceFunction("app.clock.stamp", Volatility.CALL, label="the stamp"),),
        sinks=(SinkFunction("app.llm.ask", 0, "instructions"),),
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('selct = ["PO1"]', "unknown key 'selct': did you mean 'select'?"),
        ("zzz = 1", "unknown key 'zzz'"),
        ('select = "PO1"', "select must be a list of strings"),
        ("select = [1]", "select must be a list of strings"),
        ("preview = 1", "preview must be true or false"),
        ("model = 5", "model must be a string"),
        ('severity = {unstable-order = "high"}', "severity.unstable-order: unknown severity 'high'"),
        ("severity = {unstable-order = 1}", "severity.unstable-order must be a string"),
        ('budgets = {"a" = 0}', "budgets.a must be a number of tokens, at least 1"),
        ('budgets = {"a" = {token = 5}}', "budgets.a: unknown key 'token': did you mean 'tokens'?"),
        ('budgets = {"a" = {growth = -1}}', "budgets.a.growth must be a percentage, at least 0"),
        ('budgets = {"a" = {growth = inf}}', "budgets.a.growth must be a percentage, at least 0"),
        ('budgets = {"a" = {samples = "x"}}', "budgets.a: no limit: give tokens, stable-prefix or growth"),
        ('budgets = {"!" = 5}', "budgets: '!' is not a gitignore pattern"),
        ('per-file-ignores = {"a" = "PO1"}', "per-file-ignores.a must be a list of strings"),
        ('exclude = ["a", "!"]', "exclude: '!' is not a gitignore pattern"),
        ('per-file-ignores = {"!" = ["PO1"]}', "per-file-ignores: '!' is not a gitignore pattern"),
        ("rules = {volatile-prefix = 3}", "rules.volatile-prefix must be a table"),
        ('sources = {function = "f"}', "sources must be a list of tables"),
        ('sources = [{function = "f"}]', "sources (entry 1): 'volatility' is missing"),
        ('sources = [{function = "f", volatility = "often"}]', "unknown volatility 'often': use deployment"),
        ('sinks = [{function = "f", promt = "p"}]', "sinks (entry 1): unknown key 'promt': did you mean 'prompt'?"),
        ('sinks = [{function = "f", prompt = true}]', "sinks (entry 1): prompt must be the name or the position"),
        ("select = [", "not valid TOML"),
    ],
)
def test_faults_are_one_line_that_names_the_file(tmp_path: Path, line: str, message: str) -> None:
    """What is wrong, where, and what was probably meant."""
    file = write(tmp_path / "promptopt.toml", line)
    with pytest.raises(ConfigError) as caught:
        load_config([tmp_path])
    assert str(caught.value).startswith(f"{file}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a = " + b"[" * 100_000])
def test_unreadable_configuration(tmp_path: Path, content: bytes) -> None:
    """Bytes that are no text, and nesting that exhausts the parser, are configuration errors."""
    (tmp_path / "promptopt.toml").write_bytes(content)
    with pytest.raises(ConfigError, match=r"promptopt\.toml"):
        load_config([tmp_path])


def test_the_nearest_table_counts(tmp_path: Path) -> None:
    """A project file without our table is passed by; the root stays the nearest project."""
    write(tmp_path / "pyproject.toml", '[tool.promptopt]\nmodel = "outer"\n')
    write(tmp_path / "inner/pyproject.toml", "[tool.other]\n")
    write(tmp_path / "inner/deep/app.py", "")
    config = load_config([tmp_path / "inner/deep/app.py"])
    assert (config.model, config.root, config.patterns_root) == ("outer", tmp_path / "inner", tmp_path)


def test_a_repository_ends_the_search(tmp_path: Path) -> None:
    """Configuration outside of the repository is none of ours."""
    write(tmp_path / "promptopt.toml", 'model = "outer"\n')
    (tmp_path / "repository/.git").mkdir(parents=True)
    config = load_config([tmp_path / "repository"])
    assert (config.model, config.root) == (None, tmp_path / "repository")


def test_isolated_ignores_configuration_and_projects(tmp_path: Path) -> None:
    """The root is the folder that the paths have in common, whatever lies above."""
    write(tmp_path / "pyproject.toml", "[tool.promptopt]\nmodel = 1\n")
    one, two = write(tmp_path / "a/b/one.py", ""), write(tmp_path / "a/c/two.py", "")
    assert load_config([one, two], isolated=True) == Config(root=tmp_path / "a")


def test_named_file_is_read_instead(tmp_path: Path) -> None:
    """`--config` takes a pyproject.toml or a file with the keys at its top."""
    write(tmp_path / "project/promptopt.toml", 'model = "nearest"\n')
    other = write(tmp_path / "other.toml", 'model = "named"\n')
    assert load_config([tmp_path / "project"], file=other).model == "named"
    with pytest.raises(ConfigError, match=r"no table \[tool\.promptopt\]"):
        load_config([tmp_path], file=write(tmp_path / "empty/pyproject.toml", ""))
    with pytest.raises(ConfigError, match=r"missing\.toml: No such file"):
        load_config([tmp_path], file=tmp_path / "missing.toml")
