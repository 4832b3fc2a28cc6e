"""From the remedies that a finding names to fixes: a table of builders, one for each remedy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from promptopt.finding import Finding, Remedy
from promptopt.fix.proof import Reading
from promptopt.fix.proposal import Proposal
from promptopt.fix.python.dedent import dedent
from promptopt.fix.python.ordering import compact_json, sort_elements, sort_keys

Builder: TypeAlias = Callable[[Finding, Remedy, Reading], Iterator[Proposal]]

_BUILDERS: Final[dict[str, Builder]] = {
    "sort-elements": sort_elements,
    "sort-keys": sort_keys,
    "compact-json": compact_json,
    "dedent": dedent,
}


def proposals(finding: Finding, reading: Reading) -> Iterator[Proposal]:
    """Fixes for a finding, the preferred one first: those that its rule made, then those of its remedies."""
    for fix in finding.fixes:
        yield Proposal(finding, fix)
    for remedy in finding.remedies:
        if remedy.name in _BUILDERS:
            yield from _BUILDERS[remedy.name](finding, remedy, reading)
