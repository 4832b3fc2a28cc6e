"""What a fix must keep, and a fix with the finding that it is for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from promptopt.finding import Finding, Fix


class Keeps(Enum):
    """What of a prompt a fix must leave as it was.

    ANYTHING asks for nothing: the rule that made the edit answers for it. TEXT: constant text and values in their
    order. WORDS: the same but for white space. SENTENCES: the sentences and values of each role, in any order.
    CONVERSATION: the same of all roles together. PROGRAM: the file's syntax tree, but for sorting and the form of JSON.
    """

    ANYTHING = "anything"
    TEXT = "text"
    WORDS = "words"
    SENTENCES = "sentences"
    CONVERSATION = "conversation"
    PROGRAM = "program"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A fix for a finding. `grows` says that the stable prefix of the finding's prompt must get longer."""

    finding: Finding
    fix: Fix
    keeps: Keeps = Keeps.ANYTHING
    grows: bool = False
