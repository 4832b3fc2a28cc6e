"""Secrets out of what is kept of requests.

Headers and the queries of addresses are never kept. Of arguments and bodies, values under telling names and texts that
look like keys are replaced by a digest, so that two different ones stay different.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Final

_NAMES: Final = re.compile(
    r"api_?-?key|authori[sz]ation|password|passwd|secret|credential|cookie|(?:^|[_-])token$|headers?$", re.IGNORECASE
)
_KEYS: Final = re.compile(
    r"\b(?:sk|pk|rk)[-_][\w-]{16,}|\bAIza[\w-]{30,}|\b(?:AKIA|ASIA)[0-9A-Z]{12,}|\bgh[pousr]_\w{20,}|\bgithub_pat_\w{20,}"
    r"|\bxox[abprs]-[\w-]{10,}|\bhf_\w{20,}|\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]+|\b[Bb]earer\s+[\w.~+/=-]{16,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)


def redacted(value: Any, name: str = "") -> Any:
    """The value without secrets: mappings, lists and texts, as deep as they go."""
    if name and _NAMES.search(name) and value is not None and not isinstance(value, bool | int):
        return _digest(repr(value))
    if isinstance(value, str):
        return _KEYS.sub(lambda found: _digest(found.group()), value)
    if isinstance(value, Mapping):
        return {key: redacted(member, str(key)) for key, member in value.items()}
    return [redacted(element) for element in value] if isinstance(value, list) else value


def _digest(secret: str) -> str:
    return f"[redacted {hashlib.sha256(secret.encode('utf-8', 'surrogatepass')).hexdigest()[:6]}]"
