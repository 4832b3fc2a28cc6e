"""`promptopt rule`: explain a rule."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

import click

from promptopt.cli.output import uses_color, write
from promptopt.config import suggestion
from promptopt.errors import UsageError
from promptopt.rule import AnyRule, documentation, find_rule, load_rules, selectors


@click.command("rule", short_help="Explain a rule.")
@click.argument("rule", required=False)
@click.option("--all", "everything", is_flag=True, help="Explain every rule.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Default: on a terminal.")
@click.option("-v", "--verbose", count=True, help="Twice: tracebacks of errors.")
def command(rule: str | None, *, everything: bool, color: str, verbose: int) -> int:
    """Explain RULE, a code or a name; without one, list all rules."""
    rules = load_rules()
    if rule and everything:
        raise UsageError("--all explains every rule: leave out the name")
    painted = uses_color(color)
    if everything:
        write("\n".join(explanation(one, color=painted) for one in rules))
    elif rule:
        write(explanation(_named(rule, rules), color=painted))
    else:
        write(listing(rules))
    return 0


def _named(word: str, rules: Sequence[type[AnyRule]]) -> type[AnyRule]:
    for candidate in (word, word.upper(), word.lower()):
        found = find_rule(rules, candidate)
        if found:
            return found
    known = [known for known in selectors(rules) if find_rule(rules, known)]
    raise UsageError(f"unknown rule {word!r}{suggestion(word, known) or ': `promptopt rule` lists them'}")


def explanation(rule: type[AnyRule], *, color: bool) -> str:
    """A rule's heading and documentation in Markdown; with colour, headings are bold."""
    facts = [f"severity {rule.severity.label}", f"since {rule.since}"]
    facts += ["preview"] if rule.preview else []
    facts += [f"fix {rule.fix.label}"] if rule.fix is not None else []
    text = f"# {rule.code} {rule.name}\n\n{', '.join(facts)}\n\n{inspect.cleandoc(rule.__doc__ or '')}\n"
    return _bold_headings(text) if color else text


def _bold_headings(text: str) -> str:
    lines = []
    fenced = False
    for line in text.splitlines():
        fenced ^= line.lstrip().startswith("```")
        lines.append(f"\x1b[1m{line}\x1b[0m" if line.startswith("#") and not fenced else line)
    return "\n".join(lines) + "\n"


def listing(rules: Sequence[type[AnyRule]]) -> str:
    """One line for each rule: code, name, severity, what it says in one sentence."""
    width = max(len(rule.name) for rule in rules)
    return "".join(f"{rule.code}  {rule.name:{width}}  {rule.severity.label:7}  {_summary(rule)}\n" for rule in rules)


def _summary(rule: type[AnyRule]) -> str:
    return " ".join(documentation(rule).summary.split()) + (" (preview)" if rule.preview else "")
