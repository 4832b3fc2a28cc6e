"""Prompts from template and text files, for tests."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from string import Formatter
from typing import Any, Final, Self

import jinja2
from jinja2.sandbox import SandboxedEnvironment

from promptopt.budgets import LOCK, Budgets
from promptopt.config import Config, load_config
from promptopt.samples import Samples, read_samples
from promptopt.wire import SentMessage, SentPrompt
from pytest_promptopt.snapshots import NoSnapshotError, accepted_files

_JINJA: Final = (".j2", ".jinja", ".jinja2", ".prompt", ".prompty")
_PROMPTY: Final = ".prompty"
_FRONT_MATTER: Final = re.compile(r"\A---[ \t]*\r?\n.*?^---[ \t]*\r?\n", re.DOTALL | re.MULTILINE)
_ROLE: Final = re.compile(r"^[ \t]*#?[ \t]*(system|developer|user|assistant|tool)[ \t]*:[ \t]*$", re.MULTILINE)


class RenderedPrompt(str):
    """The text of a prompt that was rendered from a file.

    Attributes:
        prompt: what it sends: a message for each role where the text has lines such as `system:`, else one text.
        file: the file, where there is one.
    """

    __slots__ = ("_again", "file", "prompt")
    prompt: SentPrompt
    file: Path | None
    _again: Callable[[], RenderedPrompt | None]

    def __new__(
        cls,
        text: str,
        name: str,
        file: Path | None = None,
        again: Callable[[], RenderedPrompt | None] = lambda: None,
    ) -> Self:
        """The text, under the name that failures give it; `again` renders it as it was accepted."""
        rendered = super().__new__(cls, text)
        rendered.prompt = _prompt(text, name)
        rendered.file = file
        rendered._again = again
        return rendered

    def accepted(self) -> RenderedPrompt | None:
        """The same with the files as they were when `promptopt.lock` was last committed; None where that is not known,
        or where they were another prompt that needed other values."""
        return self._again()


class Renderer:
    """The fixture `render_prompt`.

    Relative paths are looked for in the project's root and in the folder of the test; templates find others in their
    own folder and in those above it, up to the root. They are rendered in Jinja's sandbox, cut as the configuration's
    `templates` says, and must be given every variable.
    """

    def __init__(self, root: Path, folder: Path, rendered: Callable[[RenderedPrompt], object]) -> None:
        self._root = root
        self._folder = folder
        self._rendered = rendered
        self._config: Config | None = None

    def __call__(
        self,
        file: str | Path,
        /,
        *,
        samples: str | Path | Mapping[str, Any] | None = None,
        environment: jinja2.Environment | None = None,
        **variables: Any,
    ) -> RenderedPrompt:
        """The text of a prompt file.

        Args:
            file: a Jinja template (`.j2`, `.jinja`, `.jinja2`, `.prompt`, `.prompty`), or a text, which is filled in as
                `str.format` does where variables are given.
            samples: values for variables that are not given: a mapping, or a JSON, TOML or YAML file; by default
                those that the configuration's budgets name for the file.
            environment: the project's own, for its filters and globals; by default a sandbox.
            variables: values; they come before samples.

        Raises:
            ValueError: no such file, one that is no template of Jinja, or a variable without a value.
            ConfigError: samples or the configuration cannot be read.
        """
        path = self._found(Path(file))
        name = self._name(path)
        values = {**self._samples(samples, name), **variables}
        text = self._text(path, name, values, environment, filled=bool(variables))
        again = partial(self._as_accepted, path, name, values, environment, filled=bool(variables))
        prompt = RenderedPrompt(text, name, path, again)
        self._rendered(prompt)
        return prompt

    def _text(
        self, path: Path, name: str, values: Samples, environment: jinja2.Environment | None, *, filled: bool
    ) -> str:
        text = path.read_text("utf-8-sig")
        if path.suffix not in _JINJA:
            return _formatted(text, name, values) if filled else text
        if path.suffix == _PROMPTY:
            text = _FRONT_MATTER.sub("", text)
        elif _FRONT_MATTER.match(text):
            raise ValueError(f"{name} has front matter, which is no Jinja: only templates of Jinja are rendered")
        return _jinja(text, name, values, environment or self._environment(path))

    def _as_accepted(
        self, path: Path, name: str, values: Samples, environment: jinja2.Environment | None, *, filled: bool
    ) -> RenderedPrompt | None:
        root = self._configured().root
        if not (root / LOCK).is_file() or not path.is_relative_to(root):
            return None
        try:
            with accepted_files(root) as folder:
                then = Renderer(folder / self._root.relative_to(root), folder, self._rendered)
                file = folder / path.relative_to(root)
                return RenderedPrompt(then._text(file, name, values, environment, filled=filled), name, file)
        except (NoSnapshotError, ValueError, OSError):
            return None

    def _found(self, file: Path) -> Path:
        places = [file] if file.is_absolute() else [self._root / file, self._folder / file]
        for place in places:
            if place.is_file():
                return place
        looked = " and ".join(str(place.parent) for place in dict.fromkeys(places))
        raise ValueError(f"{file}: no such file in {looked}")

    def _name(self, path: Path) -> str:
        return path.relative_to(self._root).as_posix() if path.is_relative_to(self._root) else str(path)

    def _configured(self) -> Config:
        if self._config is None:
            self._config = load_config([self._root])
        return self._config

    def _samples(self, given: str | Path | Mapping[str, Any] | None, name: str) -> Samples:
        if isinstance(given, Mapping):
            return given
        if given is not None:
            return read_samples(self._found(Path(given)))
        return Budgets(self._configured()).samples_for(name) if self._configured().budgets else {}

    def _environment(self, path: Path) -> jinja2.Environment:
        folders = [path.parent]
        while folders[-1] != self._root and folders[-1].is_relative_to(self._root):
            folders.append(folders[-1].parent)
        return SandboxedEnvironment(
            loader=jinja2.FileSystemLoader([str(folder) for folder in folders]),
            undefined=jinja2.StrictUndefined,
            **self._configured().templates,
        )


def _jinja(text: str, name: str, values: Mapping[str, Any], environment: jinja2.Environment) -> str:
    try:
        return environment.from_string(text).render(values)
    except jinja2.UndefinedError as error:
        raise ValueError(f"{name}: {error.message}: pass it to render_prompt, or give samples") from error
    except jinja2.TemplateSyntaxError as error:
        raise ValueError(f"{name}:{error.lineno}: {error.message}") from error
    except jinja2.TemplateNotFound as error:
        raise ValueError(f"{name}: no template {error.name!r} in its folder or those above it") from error
    except jinja2.TemplateError as error:
        raise ValueError(f"{name}: {error}") from error


def _formatted(text: str, name: str, values: Mapping[str, Any]) -> str:
    try:
        return Formatter().vformat(text, (), values)
    except (KeyError, IndexError) as error:
        missing = error.args[0] if isinstance(error, KeyError) else "a value without a name"
        raise ValueError(f"{name}: {missing!r} is undefined: pass it to render_prompt, or give samples") from error
    except ValueError as error:
        raise ValueError(f"{name}: no text for str.format: {error}") from error


def _prompt(text: str, name: str) -> SentPrompt:
    roles = list(_ROLE.finditer(text))
    if not roles or text[: roles[0].start()].strip():
        return SentPrompt(messages=(SentMessage("text", (text,)),), name=name, is_text=True)
    return SentPrompt(messages=tuple(_messages(text, roles)), name=name)


def _messages(text: str, roles: list[re.Match[str]]) -> Iterator[SentMessage]:
    ends = [*(role.start() for role in roles[1:]), len(text)]
    for role, end in zip(roles, ends, strict=True):
        yield SentMessage(role[1], (text[role.end() : end].strip(),))
