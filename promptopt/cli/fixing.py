"""`check --fix`, `--diff` and `--show-fixes`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptopt.cli.output import write, write_error
from promptopt.config import Config
from promptopt.errors import UsageError
from promptopt.finding import Applicability, Finding

if TYPE_CHECKING:
    from promptopt.fix import Outcome
    from promptopt.fix.proof import Reading
    from promptopt.lint import Report


def check_options(options: Mapping[str, Any]) -> None:
    """Raise `UsageError` for options about fixes that contradict each other."""
    if options["fix"] and options["diff"]:
        raise UsageError("--diff shows what --fix would do: leave one of them out")
    if options["unsafe_fixes"] and not (options["fix"] or options["diff"]):
        raise UsageError("--unsafe-fixes goes with --fix or --diff")
    if (options["fix"] or options["diff"]) and options["write_baseline"]:
        raise UsageError("--write-baseline accepts what is found: fix first, then write it")


def reader(paths: Sequence[Path], config: Config, stdin: Mapping[Path, bytes]) -> Callable[..., Reading]:
    """What reads the project with contents in place of files."""
    from promptopt.fix.proof import Reading  # noqa: PLC0415 (loaded only where fixes are asked for)
    from promptopt.lint import check_with_prompts  # noqa: PLC0415

    def read(overlay: Mapping[Path, bytes]) -> Reading:
        return Reading.of(*check_with_prompts(paths, config, overlay={**stdin, **overlay}))

    return read


def fixed(
    paths: Sequence[Path],
    config: Config,
    stdin: Mapping[Path, bytes],
    options: Mapping[str, Any],
    wanted: Callable[[Report], Sequence[Finding]],
) -> Outcome:
    """What fixing comes to, in memory."""
    from promptopt.fix import fix_all  # noqa: PLC0415 (loaded only where fixes are asked for)

    least = Applicability.UNSAFE if options["unsafe_fixes"] else Applicability.SAFE
    return fix_all(reader(paths, config, stdin), wanted, least, config.root)


def show_diff(outcome: Outcome, root: Path) -> None:
    """Write to stdout what fixing would change."""
    from promptopt.fix import unified_diff  # noqa: PLC0415 (as above)
    from promptopt.report.style import Style, printable  # noqa: PLC0415

    style = Style()
    names = {path: printable(style.path(root, path)) for path in outcome.texts}
    write(unified_diff(outcome.sources, outcome.texts, names))


def write_fixed(outcome: Outcome, root: Path) -> list[str]:
    """Write the files; returns those that were left alone, told on stderr."""
    from promptopt.fix import write_all  # noqa: PLC0415 (as above)
    from promptopt.report.style import Style  # noqa: PLC0415

    style = Style()
    failures = write_all(root, outcome.sources, outcome.texts, outcome.bound)
    for failure in failures:
        write_error(f"{style.path(root, failure.path)}: not fixed: {failure.reason}")
    return [failure.path for failure in failures]


def fixed_stdin(outcome: Outcome, stdin: Mapping[Path, bytes]) -> dict[Path, bytes]:
    """The text on stdin as it became, written to stdout."""
    from promptopt.fix.files import encoded  # noqa: PLC0415 (as above)

    ((name, content),) = stdin.items()
    for path, text in outcome.texts.items():
        content = encoded(outcome.sources[path], text)
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()
    return {name: content}


def tell(outcome: Outcome, root: Path, left: Sequence[str], options: Mapping[str, Any]) -> None:
    """Say on stderr what was done, or would be: a line for each fix, and with `-v` for each that failed its proof."""
    from promptopt.report.style import Style, counted  # noqa: PLC0415 (as above)

    style = Style()
    if options["verbose"]:
        for finding, reason in outcome.refused:
            write_error(f"{style.path(root, finding.location.path)}: {finding.code} not fixed: {reason}")
    if options["quiet"]:
        return
    done = [one for one in outcome.applied if not left or one.finding.location.path not in left]
    for one in done:
        growth = "" if one.prefix is None else f"; stable prefix {one.prefix[0]:,} to {one.prefix[1]:,} tokens"
        place = f"{style.path(root, one.finding.location.path)}:{one.row}"
        write_error(f"{place} {one.finding.code} {one.finding.name}: {one.title}{growth}")
    files = len(outcome.texts) - len(left)
    verb = "Would fix" if options["diff"] else "Fixed"
    write_error(f"{verb} {counted(len(done), 'finding')} in {counted(files, 'file')}.")
