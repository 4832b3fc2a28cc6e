"""Encodings: functions from text to a number of tokens, each loaded when it is first used."""

from __future__ import annotations

import hashlib
import re
import tomllib
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from promptopt.config import suggestion
from promptopt.errors import TokenError

if TYPE_CHECKING:
    import tiktoken

Count = Callable[[str], int]

_TOKENIZER_FILE: Final = ".json"
_TOKENS_AT_ONCE: Final = 4096
_FIELDS: Final = tuple(f"{length}s" for length in range(256))
_LONG_BLANK: Final = re.compile(r"[\t\x0b\x0c \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]{20000,}")
"""A run of white space without line ends (Unicode's White_Space, not Python's `\\s`, which has \\x1c to \\x1f too)."""
_BLOCK: Final = 10_000
"""Characters; a run of 20,000 covers a whole block that starts at a multiple of this."""
_WHITE: Final = frozenset("\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000") | {
    chr(c) for c in range(0x2000, 0x200B)
}


def encoding_names() -> tuple[str, ...]:
    """Names of the encodings that the package carries, aliases included."""
    return tuple(name for entry, table in _tables().items() for name in (entry, *table["aliases"]))


def load_count(encoding: str) -> Count:
    """The function that counts the tokens of a text in an encoding.

    Args:
        encoding: name of an encoding, or path of a Hugging Face `tokenizer.json`.

    Raises:
        TokenError: unknown name, a file that is no tokenizer, or a package that is not installed.
    """
    if encoding.endswith(_TOKENIZER_FILE):
        return _hugging_face(Path(encoding))
    for name, table in _tables().items():
        if encoding == name or encoding in table["aliases"]:
            return _byte_pair(name)
    hint = suggestion(encoding, encoding_names()) or f": known are {', '.join(encoding_names())}"
    raise TokenError(f"unknown encoding {encoding!r}{hint}, or give the path of a tokenizer.json")


@cache
def _tables() -> dict[str, Any]:
    return dict(tomllib.loads(resources.files(__package__).joinpath("encodings.toml").read_text("utf-8"))["encodings"])


@cache
def _byte_pair(name: str) -> Count:
    if find_spec("splintr"):
        import splintr  # noqa: PLC0415 (the `fast` extra)

        encode = splintr.Tokenizer.from_pretrained(name).encode_ordinary
        return lambda text: len(encode(_without_surrogates(text)))
    encoding = _tiktoken(name)
    return lambda text: _count_with_tiktoken(encoding, text)


def _tiktoken(name: str) -> tiktoken.Encoding:
    import tiktoken  # noqa: PLC0415 (heavy)

    ranks = _ranks(name)
    encoding = tiktoken.Encoding(name, pat_str=_tables()[name]["pattern"], mergeable_ranks=ranks, special_tokens={})
    # its engine has a copy of its own, and nobody asks for this one: it is 20 MB of small objects
    ranks.clear()
    return encoding


def _ranks(name: str) -> dict[bytes, int]:
    """Rank by bytes of token: tokens stand in their file by rank, behind the lengths of all of them in one byte each.

    Raises:
        TokenError: the installed file is not the one that was published.
    """
    file = resources.files(__package__).joinpath("ranks", f"{name}.zlib")
    table = _tables()[name]
    try:
        content = zlib.decompress(file.read_bytes())
    except (OSError, zlib.error) as error:
        raise TokenError(f"{file}: cannot be read: {error}: install promptopt-toolkit again") from error
    if hashlib.sha256(content).hexdigest() != table["packed_sha256"]:
        raise TokenError(f"{file}: not the published file: install promptopt-toolkit again")
    ranks: dict[bytes, int] = {}
    at = size = table["tokens"]
    for first in range(0, size, _TOKENS_AT_ONCE):
        lengths = content[first : min(first + _TOKENS_AT_ONCE, size)]
        fields = Struct("".join([_FIELDS[length] for length in lengths]))
        ranks.update(zip(fields.unpack_from(content, at), range(first, size), strict=False))
        at += fields.size
    return ranks


def _count_with_tiktoken(encoding: tiktoken.Encoding, text: str) -> int:
    try:
        text.encode()
    except UnicodeEncodeError:
        text = _without_surrogates(text)
    if not _has_long_blank(text):
        return len(encoding.encode_ordinary(text))
    return sum(
        len(encoding._encode_single_piece(piece) if whole else encoding.encode_ordinary(piece))  # noqa: SLF001
        for piece, whole in _pieces(text)
    )


def _without_surrogates(text: str) -> str:
    """The text with surrogate pairs joined and lone surrogates replaced, as tiktoken does."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _has_long_blank(text: str) -> bool:
    """Whether a block of white space makes it worth looking for long runs."""
    return any(
        text[start] in _WHITE and text[start : start + _BLOCK].isspace()
        for start in range(0, len(text) - _BLOCK + 1, _BLOCK)
    )


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """The text in pieces, each with whether it is one piece for byte-pair merging, too.

    A long run of blanks gives tiktoken's regular expression engine so many ways to back out that it
    panics. Both patterns make one piece of such a run, without its last blank where something follows,
    and neither lets a piece reach across its beginning.
    """
    done = 0
    for run in _LONG_BLANK.finditer(text):
        start, end = run.span()
        if end < len(text) and text[end] in "\r\n":
            continue
        end -= end < len(text)
        yield text[done:start], False
        yield text[start:end], True
        done = end
    yield text[done:], False


@cache
def _hugging_face(path: Path) -> Count:
    if not find_spec("tokenizers"):
        raise TokenError(f"{path}: counting with it needs the package tokenizers: pip install tokenizers")
    from tokenizers import Tokenizer  # noqa: PLC0415 (optional)

    if not path.is_file():
        raise TokenError(f"{path}: no such file")
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the package raises nothing narrower
        raise TokenError(f"{path}: not a tokenizer: {error}") from error
    return lambda text: len(tokenizer.encode(_without_surrogates(text), add_special_tokens=False).ids)
