"""Frames: one scope with its parameters bound to the arguments of one call, or left open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from promptopt.project.values import Instance, Lazy, Place, ScopeRef, Unknown, Value

END: Final = 1 << 60
"""A position behind all statements of a scope."""

IN_PROGRESS: Final = Unknown("cycle")
"""Stands in a memo for a value that is being computed: what depends on itself is not known."""


class Frame:
    """A scope under evaluation.

    `bindings` maps parameters to arguments; parameters without one are open. `receiver` is `self` (or
    the class). `closure` is the frame of the enclosing scope. `level` lowers the volatility of what is
    made here: `process` (evaluated once at import or cached), `session` (made once per long-lived
    object), or None. `memo` holds values by the identity of expressions and thunks; `origin` is the
    frame this one was forked from at the position `forked_at`. `heads` fixes definitions to values. `call` is the place
    of the call that made the frame, `caller` its frame. `outer` is the frame that a comprehension's frame,
    with its `locals`, stands in. `objects` and `frames` are memos for the objects that the scope changes.
    """

    __slots__ = (
        "bindings",
        "call",
        "caller",
        "closure",
        "depth",
        "forked_at",
        "frames",
        "heads",
        "level",
        "locals",
        "memo",
        "objects",
        "origin",
        "outer",
        "receiver",
        "scope",
    )

    def __init__(
        self,
        scope: ScopeRef,
        bindings: Mapping[str, Lazy | Value] | None = None,
        *,
        receiver: Value | None = None,
        closure: Frame | None = None,
        level: str | None = None,
        call: Place | None = None,
        caller: Frame | None = None,
        depth: int = 0,
    ) -> None:
        self.scope = scope
        self.bindings = bindings if bindings is not None else {}
        self.receiver = receiver
        self.closure = closure
        self.level = level
        self.call = call
        self.caller = caller
        self.depth = depth
        self.memo: dict[int, Value] = {}
        self.objects: dict[tuple[object, ...], Instance] = {}
        self.frames: dict[tuple[object, ...], Frame] = {}
        self.origin: Frame | None = None
        self.forked_at = 0
        self.heads: dict[int, Value] = {}
        self.locals: Mapping[str, Value] = {}
        self.outer: Frame | None = None

    def bound(self, names: Mapping[str, Value]) -> Frame:
        """The same scope with extra local names: the variables of a comprehension."""
        frame = Frame(self.scope, closure=self.closure, level=self.level, call=self.call, depth=self.depth)
        frame.locals = names
        frame.outer = self
        return frame

    def fork(self, heads: Mapping[int, Value], position: int) -> Frame:
        """The same frame for one round of a loop that starts at `position`, with the definitions `heads`
        (by identity) fixed to values. What was computed for earlier positions still holds."""
        frame = Frame(
            self.scope,
            self.bindings,
            receiver=self.receiver,
            closure=self.closure,
            level=self.level,
            call=self.call,
            caller=self.caller,
            depth=self.depth,
        )
        frame.origin = self
        frame.forked_at = position
        frame.heads = {**self.heads, **heads}
        return frame

    def kept(self, bindings: Mapping[str, Lazy | Value] | None = None) -> Frame:
        """The same scope as a function sees it that outlives this call: what it makes is made once."""
        return Frame(
            self.scope,
            self.bindings if bindings is None else bindings,
            receiver=self.receiver,
            closure=self.closure,
            level=self.level or "session",
            call=self.call,
            caller=self.caller,
            depth=self.depth,
        )

    def known(self, key: int, position: int) -> Value | None:
        """A memoised value of this frame, or of one that it was forked from further on than `position`."""
        frame: Frame | None = self
        while frame is not None:
            found = frame.memo.get(key)
            if found is not None and (frame is self or found is not IN_PROGRESS):
                return found
            frame = frame.origin if position < frame.forked_at else None
        return None
