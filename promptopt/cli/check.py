"""`promptopt check`: report what makes prompts slow."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from promptopt.baseline import read_baseline, write_baseline
from promptopt.cli.fixing import check_options, fixed, fixed_stdin, reader, show_diff, tell, write_fixed
from promptopt.cli.options import configuration, given_paths, project_options, words
from promptopt.cli.output import prints_unicode, terminal_width, uses_color, write, write_error, write_file
from promptopt.config import Budget, Config
from promptopt.errors import UsageError
from promptopt.finding import Finding, Severity

if TYPE_CHECKING:
    from promptopt.lint import Report

_SEVERITIES: Final = [level.label for level in Severity]
_FORMATS: Final = ["text", "concise", "json", "sarif", "github", "gitlab", "junit"]
_FILE: Final = click.Path(path_type=Path, dir_okay=False)
_ALL_SHOWN: Final = ("json", "sarif")
"""Forms that show every finding unless told otherwise: what reads them filters for itself."""
_COUNTED: Final = ("text", "concise", "json")


@click.command("check", short_help="Report what makes prompts slow.")
@project_options
@click.option("--select", multiple=True, callback=words, help="Rules to run: codes, names, families, ALL.")
@click.option("--extend-select", multiple=True, callback=words, help="Rules to run besides.")
@click.option("--ignore", multiple=True, callback=words, help="Rules not to run.")
@click.option("--preview", is_flag=True, help="Run preview rules too.")
@click.option("--min-severity", type=click.Choice(_SEVERITIES), help="Least to show [warning; json and sarif: info].")
@click.option("--fail-on", type=click.Choice(_SEVERITIES), default="warning", help="Least that exits 1 [warning].")
@click.option("--fix", is_flag=True, help="Fix what can be fixed safely; what is left is reported.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix or --diff: also what changes how prompts read.")
@click.option("--diff", is_flag=True, help="Show what --fix would change, and write nothing; exit 1 where it would.")
@click.option("--show-fixes", is_flag=True, help="Show fixes with their edits.")
@click.option("--output-format", type=click.Choice(_FORMATS), default="text", help="Form of the report [text].")
@click.option("--output-file", type=_FILE, help="Write the report there.")
@click.option("--baseline", type=_FILE, help="Report only findings that are not in this file.")
@click.option("--write-baseline", type=_FILE, help="Accept the findings of this run: write them there, and exit 0.")
@click.option("--diff-base", metavar="REF", help="Report only findings on lines changed since the branch left REF.")
@click.option("--exit-zero", is_flag=True, help="Exit 0 even with findings.")
@click.option("--statistics", is_flag=True, help="Print the number of findings of each rule instead.")
@click.option("--show-files", is_flag=True, help="List the files that would be reported on, and exit.")
@click.option("--show-settings", is_flag=True, help="Print the configuration in force, and exit.")
def command(**options: Any) -> int:
    """Report what makes prompts slow in PATHS (default: the current folder).

    The whole project is read; what stands in PATHS is reported, and what files named there do to prompts
    elsewhere. `-` reads one file from stdin.
    """
    check_options(options)
    paths, stdin = given_paths(options["paths"], options["stdin_filename"])
    config = configuration(paths, options)
    if options["statistics"] and options["output_format"] not in _COUNTED:
        raise UsageError(
            f"--statistics prints {', '.join(_COUNTED)}: leave out --output-format {options['output_format']}"
        )
    if options["show_settings"]:
        write(_settings(config))
        return 0
    return _check(paths, config, stdin, options)


def _check(paths: Sequence[Path], config: Config, stdin: Path | None, options: Mapping[str, Any]) -> int:
    from promptopt.lint import inspect  # noqa: PLC0415 (loads the readers and the linker)

    overlay = {stdin: sys.stdin.buffer.read()} if stdin else {}
    if options["show_files"]:
        write(_files(inspect(paths, config, overlay=overlay)))
        return 0
    if options["diff"]:
        return _show_diff(paths, config, overlay, options)
    if options["fix"]:
        return _fix(paths, config, overlay, options)
    report = _checked(paths, config, overlay, options)
    if options["write_baseline"]:
        write_baseline(options["write_baseline"], report.findings)
        write_error(f"{options['write_baseline']}: {len(report.findings)} findings accepted")
        return 0
    return _tell(report, options)


def _checked(
    paths: Sequence[Path], config: Config, overlay: Mapping[Path, bytes], options: Mapping[str, Any]
) -> Report:
    """The findings that are new, with fixes where these are asked for."""
    from promptopt.lint import check  # noqa: PLC0415 (loads the readers and the linker)

    report = _new(check(paths, config, overlay=overlay), options)
    if not options["show_fixes"]:
        return report
    from promptopt.fix import with_fixes  # noqa: PLC0415 (loaded only where fixes are asked for)

    return with_fixes(report, reader(paths, config, overlay), config.root)


def _show_diff(paths: Sequence[Path], config: Config, overlay: Mapping[Path, bytes], options: Mapping[str, Any]) -> int:
    outcome = fixed(paths, config, overlay, options, _wanted(options))
    show_diff(outcome, config.root)
    tell(outcome, config.root, (), options)
    return int(bool(outcome.texts) and not options["exit_zero"])


def _fix(paths: Sequence[Path], config: Config, overlay: Mapping[Path, bytes], options: Mapping[str, Any]) -> int:
    """Write what was fixed, to the files or where the text came from stdin to stdout, and report what is left."""
    outcome = fixed(paths, config, overlay, options, _wanted(options))
    if overlay:
        left: list[str] = []
        overlay = fixed_stdin(outcome, overlay)
    else:
        left = write_fixed(outcome, config.root)
    tell(outcome, config.root, left, options)
    return max(_tell(_checked(paths, config, overlay, options), options, to_stderr=bool(overlay)), 2 if left else 0)


def _wanted(options: Mapping[str, Any]) -> Callable[[Report], Sequence[Finding]]:
    """What picks the findings to fix: those that would be shown."""
    least = Severity.parse(options["min_severity"] or _least(options["output_format"]))

    def wanted(report: Report) -> list[Finding]:
        return [finding for finding in _new(report, options).findings if finding.severity >= least]

    return wanted


def _tell(report: Report, options: Mapping[str, Any], *, to_stderr: bool = False) -> int:
    """Write the report; returns the exit status."""
    text = _render(report, options)
    if options["output_file"]:
        write_file(options["output_file"], text)
    elif to_stderr:
        write_error(text.rstrip("\n"))
    else:
        write(text)
    if options["verbose"]:
        write_error(
            f"read {len(report.sources)} files in {report.root}; "
            f"{report.bounds_hit} evaluations were cut off by a bound"
        )
    threshold = Severity.parse(options["fail_on"])
    failed = any(finding.severity >= threshold for finding in report.findings)
    return int(failed and not options["exit_zero"])


def _new(report: Report, options: Mapping[str, Any]) -> Report:
    """The report without findings that are known or stand in unchanged lines."""
    if options["diff_base"]:
        from promptopt.changes import changes_since  # noqa: PLC0415 (starts git)

        changes = changes_since(options["diff_base"], report.root)
        touched = [finding for finding in report.findings if changes.touch(finding, report.sources)]
        report = report.keeping(touched, f"on lines unchanged since {options['diff_base']}")
    if options["baseline"]:
        report = report.keeping(read_baseline(options["baseline"]).new(report.findings), "in the baseline")
    return report


def _files(report: Report) -> str:
    """The files of a report, one a line."""
    from promptopt.report.style import Style, printable  # noqa: PLC0415 (loaded with the report)

    style = Style()
    return "".join(f"{printable(style.path(report.root, path))}\n" for path in report.files)


def _render(report: Report, options: Mapping[str, Any]) -> str:
    from promptopt import report as reports  # noqa: PLC0415 (loaded with the report)

    form = options["output_format"]
    least = options["min_severity"] or _least(form)
    to_file = options["output_file"] is not None
    style = reports.Style(
        min_severity=Severity.parse(least),
        show_fixes=options["show_fixes"],
        color=uses_color("never" if to_file and options["color"] == "auto" else options["color"]),
        width=terminal_width(),
        unicode=to_file or prints_unicode(),
        verbosity=options["verbose"] - options["quiet"],
    )
    if options["statistics"]:
        return _statistics(style.shown(report.findings), form)
    return reports.render(form, report, style)


def _least(form: str) -> str:
    """The least severity that a form shows unless told otherwise."""
    return "info" if form in _ALL_SHOWN else "warning"


def _statistics(findings: Sequence[Finding], form: str) -> str:
    """Findings counted by rule, the most frequent first."""
    counts = Counter((finding.code, finding.name) for finding in findings)
    rows = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    if form == "json":
        entries = [{"code": code, "name": name, "count": count} for (code, name), count in rows]
        return json.dumps(entries, indent=2) + "\n"
    return "".join(f"{count:>6}  {code} {name}\n" for (code, name), count in rows)


def _settings(config: Config) -> str:
    """One line for each setting."""
    names = [field.name for field in fields(config)]
    return "".join(f"{name.replace('_', '-')} = {_value(getattr(config, name))}\n" for name in names)


def _value(value: object) -> str:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Budget):
        return _value({key: limit for key, limit in value.limits().items() if limit is not None})
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, IntEnum):
        return value.name.lower()
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value) if isinstance(value, str | bool | int | None) else str(value)
