"""Functions that an SDK calls on each request for further instructions, registered by decorators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from promptopt.project.describe import Describer, location
from promptopt.project.frames import END
from promptopt.project.messages import MessageBuilder
from promptopt.project.values import CallResult, External, Function, Place, ScopeRef, Value
from promptopt.prompt import Call, History, Prompt

if TYPE_CHECKING:
    from promptopt.project.evaluate import Evaluator
    from promptopt.readers.facts import Expression
    from promptopt.sdks.schema import HookShape, Sdk


def _decorated(ev: Evaluator) -> Iterator[tuple[ScopeRef, Expression]]:
    """Decorated functions with each decorator, the call taken off (`@agent.instructions()`)."""
    for path, module in ev.world.modules.items():
        for index, scope in enumerate(module.scopes):
            for decorator in scope.decorators:
                function = decorator
                if decorator[0] == "call":
                    function = module.scopes[scope.parent].calls[decorator[3]][2]
                yield ScopeRef(path, index), function


def find(ev: Evaluator) -> dict[Place, tuple[Value, ...]]:
    """Functions that add system text to an agent, by the place where the agent is made."""
    names = {hook for sdk in ev.sdks.sdks for shape in sdk.calls for hook in shape.hooks}
    found: dict[Place, tuple[Value, ...]] = {}
    for ref, decorator in _decorated(ev):
        if decorator[0] != "attr" or decorator[4] not in names:
            continue
        parent = ev.parent(ref)
        if parent is None:
            continue
        ev.refuel()
        owner = ev.evaluate(decorator[3], ev.open_frame(parent), END)
        if isinstance(owner, CallResult):
            shape = ev.sdks.constructor(owner.dotted)
            if shape is not None and decorator[4] in shape[1].hooks:
                found[owner.place] = (*found.get(owner.place, ()), Function(ref, ev.open_frame(parent)))
    return found


def prompts(ev: Evaluator, describer: Describer) -> Iterator[Prompt]:
    """Prompts of functions that return the whole system text (`@dynamic_prompt`)."""
    for ref, decorator in _decorated(ev):
        parent = ev.parent(ref)
        if parent is None or decorator[0] not in ("name", "attr"):
            continue
        ev.refuel()
        value = ev.evaluate(decorator, ev.open_frame(parent), END)
        hook = ev.sdks.hook(value.dotted) if isinstance(value, External) else None
        if hook is not None:
            yield _prompt(ev, describer, ref, hook)


def _prompt(ev: Evaluator, describer: Describer, ref: ScopeRef, hook: tuple[Sdk, HookShape]) -> Prompt:
    sdk, shape = hook
    scope = ev.scope(ref)
    builder = MessageBuilder(ev, describer, sdk)
    parent = ev.parent(ref)
    function = Function(ref, ev.open_frame(parent) if parent is not None else None)
    where = location(Place(ref.path, scope.name_start, scope.name_end))
    call = Call(sdk.name, shape.endpoint, None, where, scope.name)
    messages = (*builder.system(function), History("agent", (), "", where))
    return Prompt(f"{ref.path}::{scope.name}", call, where, None, messages)
