"""Files of other kinds than Python that hold prompts: read when something asks for them, each once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from promptopt.project.prompt_files import is_named_as_prompt, is_prompt_folder, is_template
from promptopt.source import SourceFile, UnreadableSourceError, decode_source, read_source

LARGEST_TEXT: Final = 2_000_000
"""Bytes of a text file up to which a prompt is read from it."""


class TextFiles:
    """Reads text files below `root`; those read join `sources`.

    `overlay` holds contents by path that take the place of files. `read` are the paths of what was read, `faults`
    says why templates that are prompts by their names could not be.
    """

    def __init__(self, root: Path, sources: dict[str, SourceFile], overlay: Mapping[str, bytes]) -> None:
        self._root = root
        self._sources = sources
        self._overlay = overlay
        self.read: set[str] = set()
        self.faults: dict[str, str] = {}

    def text(self, path: str) -> str | None:
        """The file's text; None outside of the project and where it cannot be read."""
        clean = os.path.normpath(path).replace(os.sep, "/")
        if clean in self._sources:
            return self._sources[clean].text
        if clean.startswith(("../", "/")):
            return None
        try:
            source = self._source(clean)
        except UnreadableSourceError as error:
            if is_template(clean) and (is_named_as_prompt(clean) or is_prompt_folder(self._root.name)):
                self.faults[clean] = str(error)
            return None
        if source is None:
            return None
        self._sources[clean] = source
        if not clean.endswith(".py"):
            self.read.add(clean)
        return source.text

    def _source(self, path: str) -> SourceFile | None:
        if path in self._overlay:
            return decode_source(self._overlay[path], path)
        file = self._root / path
        try:
            if not file.is_file():
                return None
            size = file.stat().st_size
        except OSError as error:
            raise UnreadableSourceError(error.strerror or type(error).__name__) from error
        if size > LARGEST_TEXT:
            raise UnreadableSourceError(f"{size / 1e6:.0f} MB, above the limit of {LARGEST_TEXT / 1e6:.0f} MB")
        return read_source(file, path)
