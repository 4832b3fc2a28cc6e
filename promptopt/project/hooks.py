"""Functions that an SDK calls on each request for further instructions, registered by decorators."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, NamedTuple

from promptopt.project.describe import Describer, location
from promptopt.project.frames import END
from promptopt.project.messages import MessageBuilder
from promptopt.project.targets import last_name
from promptopt.project.values import CallResult, External, Function, Place, ScopeRef, Value
from promptopt.prompt import Call, History, Prompt
from promptopt.symbols import parse_symbol

if TYPE_CHECKING:
    from promptopt.project.evaluate import Evaluator
    from promptopt.readers.facts import Expression, Scope
    from promptopt.sdks.schema import HookShape, Sdk


class Hooked(NamedTuple):
    """A function that adds system text; `once` says that it is asked once per conversation."""

    function: Value
    once: bool


def _decorated(ev: Evaluator, names: AbstractSet[str]) -> Iterator[tuple[ScopeRef, Expression, Expression]]:
    """Functions with a decorator of one of these names, under whatever name it was imported: with the decorator as
    it is, and with the call taken off (`@agent.instructions()`)."""
    for path, module in ev.world.modules.items():
        local = names | {alias for _, name, alias, _ in module.imports if name in names}
        called = {place for name in local & module.calls_by_name.keys() for place in module.calls_by_name[name]}
        for index, scope in enumerate(module.scopes):
            for decorator in scope.decorators:
                if decorator[0] == "call" and (scope.parent, decorator[3]) in called:
                    yield ScopeRef(path, index), decorator, module.scopes[scope.parent].calls[decorator[3]][2]
                elif decorator[0] in ("name", "attr") and last_name(decorator) in local:
                    yield ScopeRef(path, index), decorator, decorator


def find(ev: Evaluator) -> dict[Place, tuple[Hooked, ...]]:
    """Functions that add system text to an agent, by the place where the agent is made."""
    names = {hook for sdk in ev.sdks.sdks for shape in sdk.calls for hook in shape.hooks}
    found: dict[Place, tuple[Hooked, ...]] = {}
    for ref, whole, decorator in _decorated(ev, names):
        if decorator[0] != "attr":
            continue
        parent = ev.parent(ref)
        if parent is None:
            continue
        ev.refuel()
        owner = ev.evaluate(decorator[3], ev.open_frame(parent), END)
        if isinstance(owner, CallResult):
            shape = ev.sdks.constructor(owner.dotted)
            if shape is not None and decorator[4] in shape[1].hooks:
                once = decorator[4] in shape[1].hooks_once and not _is_dynamic(ev.scope(parent), whole)
                hooked = Hooked(Function(ref, ev.open_frame(parent)), once)
                found[owner.place] = (*found.get(owner.place, ()), hooked)
    return found


def _is_dynamic(scope: Scope, decorator: Expression) -> bool:
    """Whether a decorator is called with `dynamic=True`, or with a value that may be true."""
    keywords = scope.calls[decorator[3]][4] if decorator[0] == "call" else ()
    return any(name == "dynamic" and (value[0] != "const" or value[3]) for name, value in keywords)


def prompts(ev: Evaluator, describer: Describer) -> Iterator[Prompt]:
    """Prompts of functions that return the whole system text (`@dynamic_prompt`)."""
    symbols = (symbol for sdk in ev.sdks.sdks for hook in sdk.hooks for symbol in hook.symbols)
    names = {parse_symbol(symbol).suffix[-1] for symbol in symbols}
    for ref, _, decorator in _decorated(ev, names):
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
