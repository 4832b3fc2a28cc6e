"""Whether a project says the same after fixes as before, judged by reading it anew.

Every prompt of the project is compared, not only those that the fixes are for: a constant may be part of many.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from promptopt.finding import Finding, Severity
from promptopt.fix.edits import rewritten
from promptopt.fix.proposal import Keeps, Proposal
from promptopt.fix.python.program import same_but_for_order
from promptopt.fix.sentences import sentences
from promptopt.lint import Report
from promptopt.prompt import (
    Choice,
    History,
    Interpolation,
    Message,
    Part,
    Parts,
    Prompt,
    Repeat,
    Text,
    Volatility,
)
from promptopt.source import Location

_BELOW: Final = Volatility.PROCESS
_SPACE: Final = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Reading:
    """What a run read and found: all prompts of the project, the findings of what is reported."""

    report: Report
    prompts: Mapping[str, Prompt]

    @classmethod
    def of(cls, report: Report, prompts: Iterable[Prompt]) -> Reading:
        """Prompts by name."""
        return cls(report, {prompt.name: prompt for prompt in prompts})


@dataclass(frozen=True, slots=True)
class Fault:
    """A check that failed, and the proposals that it is about; all of them where that is not known."""

    reason: str
    about: tuple[Proposal, ...] = ()


def faults(before: Reading, after: Reading, made: Sequence[Proposal]) -> Iterator[Fault]:
    """What speaks against the proposals that were made between two readings; nothing where they are proved."""
    yield from _programs(before.report, made)
    yield from _findings(before.report, after.report, made)
    names = {*before.prompts, *after.prompts}
    for name in sorted(names):
        old, new = before.prompts.get(name), after.prompts.get(name)
        if old is None or new is None:
            yield Fault(f"{name} is {'new' if old is None else 'gone'}", _about(old or new, made))
        elif old != new:
            yield from _prompts(old, new, _about(old, made) or tuple(made))


def _programs(before: Report, made: Sequence[Proposal]) -> Iterator[Fault]:
    for proposal in made:
        if proposal.keeps is Keeps.PROGRAM:
            for path, text in rewritten([proposal.fix], before.sources).items():
                if not same_but_for_order(before.sources[path].text, text):
                    yield Fault(f"{path} would be another program", (proposal,))


def _findings(before: Report, after: Report, made: Sequence[Proposal]) -> Iterator[Fault]:
    """Each finding is gone, and of no rule has any prompt more than before.

    An edit of the expression that a finding is named by gives it another name: there the number of findings tells.
    Behind a value that was moved the next one may come up: of those only the worst is reported.
    """
    old, new = Counter(map(key, before.findings)), Counter(map(key, after.findings))
    old_total, new_total = Counter(map(_whose, before.findings)), Counter(map(_whose, after.findings))
    fixed = Counter(_whose(one.finding) for one in made)
    for proposal in made:
        mine, whose = key(proposal.finding), _whose(proposal.finding)
        left = new[mine] >= old[mine]
        if left or (not proposal.grows and new_total[whose] > old_total[whose] - fixed[whose]):
            yield Fault(f"{proposal.finding.code} is still found", (proposal,))
    worst = _levels(before.findings)
    for whose, level in _levels(after.findings).items():
        about = tuple(one for one in made if (one.finding.prompt or one.finding.location.path) == whose[1])
        if new_total[whose] > old_total[whose]:
            yield Fault(f"{whose[0]} would be found in {whose[1]}", about)
        elif level > worst[whose]:
            yield Fault(f"{whose[0]} would be worse in {whose[1]}", about)


def _levels(findings: Iterable[Finding]) -> dict[tuple[str, str], Severity]:
    """The most severe finding of each rule about each prompt."""
    levels: dict[tuple[str, str], Severity] = {}
    for finding in findings:
        levels[_whose(finding)] = max(finding.severity, levels.get(_whose(finding), Severity.INFO))
    return levels


def _whose(finding: Finding) -> tuple[str, str]:
    return finding.code, finding.prompt or finding.location.path


def key(finding: Finding) -> tuple[str, str, str]:
    """What a finding is about, wherever it stands by now."""
    return *_whose(finding), _SPACE.sub(" ", finding.subject).strip()


def _about(prompt: Prompt | None, made: Sequence[Proposal]) -> tuple[Proposal, ...]:
    """The proposals that are for a prompt, or edit what it is made of."""
    if prompt is None:
        return ()
    places = set(_locations(prompt))
    return tuple(
        one
        for one in made
        if one.finding.prompt == prompt.name or any(_meet(edit.location, places) for edit in one.fix.edits)
    )


def _meet(edit: Location, places: Iterable[Location]) -> bool:
    return any(
        place.path == edit.path and place.span.start <= edit.span.end and edit.span.start <= place.span.end
        for place in places
    )


def _locations(prompt: Prompt) -> Iterator[Location]:
    for message in prompt.messages:
        if isinstance(message, Message):
            for block in message.blocks:
                yield from _part_locations(block.parts)


def _part_locations(parts: Parts) -> Iterator[Location]:
    for part in parts:
        if isinstance(part, Text):
            yield from (segment.location for segment in part.map)
        elif isinstance(part, Choice):
            for alternative in part.alternatives:
                yield from _part_locations(alternative)
        elif isinstance(part, Repeat):
            yield from _part_locations(part.body)
        elif part.location is not None:
            yield part.location


def _prompts(old: Prompt, new: Prompt, about: tuple[Proposal, ...]) -> Iterator[Fault]:
    keeps = max((one.keeps for one in about), key=_LOOSENESS.index, default=Keeps.TEXT)
    if keeps in (Keeps.PROGRAM, Keeps.ANYTHING):
        return
    lost, added = _difference(content(old, keeps), content(new, keeps))
    if lost or added:
        yield Fault(f"{old.name} would not say the same: {_shown(lost or added)}", about)
    if keeps is Keeps.WORDS:
        return
    grown = [(one.stable_prefix(_BELOW)) for one in (old, new)]
    if any(later < earlier for earlier, later in zip(*grown, strict=True)):
        yield Fault(f"less of {old.name} would stay the same", about)
    elif grown[0] == grown[1]:
        idle = tuple(one for one in about if one.grows and one.finding.prompt == old.name)
        if idle:
            yield Fault(f"no more of {old.name} would stay the same", idle)


_LOOSENESS: Final = (Keeps.TEXT, Keeps.WORDS, Keeps.SENTENCES, Keeps.CONVERSATION, Keeps.PROGRAM, Keeps.ANYTHING)


def _difference(old: Counter[str], new: Counter[str]) -> tuple[list[str], list[str]]:
    return list((old - new).elements()), list((new - old).elements())


def _shown(texts: list[str]) -> str:
    return repr(texts[0][:60])


def content(prompt: Prompt, keeps: Keeps) -> Counter[str]:
    """What a prompt holds, counted, as far as it must be kept; values stand for themselves."""
    found: Counter[str] = Counter()
    for tool in prompt.tools.tools if prompt.tools else ():
        found[f"tool:{tool.name}:{_flat(tool.parts)}"] += 1
    for message in prompt.messages:
        if isinstance(message, History):
            found[f"history:{message.grows_in}:{message.bounds}:{message.expression}"] += 1
            continue
        role = "" if keeps is Keeps.CONVERSATION else f"{message.role}:"
        for block in message.blocks:
            text = _flat(block.parts)
            if keeps is Keeps.TEXT:
                found[role + text] += 1
            elif keeps is Keeps.WORDS:
                found[role + _SPACE.sub(" ", text).strip()] += 1
            else:
                found.update(role + sentence for sentence in sentences(text))
    return found


def _flat(parts: Parts) -> str:
    """Text with a mark for each value; no mark holds white space or the end of a sentence."""
    return "".join(_mark(part) for part in parts)


def _mark(part: Part) -> str:
    if isinstance(part, Text):
        return part.value
    if isinstance(part, Interpolation):
        return _named("value", _SPACE.sub(" ", part.expression))
    if isinstance(part, Choice):
        return _named("choice", part.condition, *("\n".join(sorted(sentences(_flat(a)))) for a in part.alternatives))
    if isinstance(part, Repeat):
        return _named("repeat", part.over, part.variable, "\n".join(sorted(sentences(_flat(part.body)))))
    return _named("media", part.kind)


def _named(*words: str) -> str:
    digest = hashlib.sha256("\0".join(words).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"\ue000{words[0]}-{digest}\ue001"
