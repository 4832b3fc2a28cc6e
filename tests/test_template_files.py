"""Template files of a project: which are read, what is told of those that cannot be, comments that silence."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from promptopt import Report, Severity, check, check_text
from promptopt.config import Config
from promptopt.errors import ConfigError

RULES = "You are the support assistant of Acme Bank. Answer only from the knowledge base, never from memory.\n" * 4


def project(root: Path, files: Mapping[str, str | bytes]) -> Report:
    """Check a project of these files."""
    (root / "promptopt.toml").write_text("")
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    return check([root])


def codes(report: Report) -> list[tuple[str, str]]:
    """What was found, as code and path."""
    return [(finding.code, finding.location.path) for finding in report.findings]


def test_a_template_that_nobody_renders_is_judged_by_names(tmp_path: Path) -> None:
    """The finding has a place and a prompt, and says that a name is all it knows."""
    report = project(tmp_path, {"prompts/system.j2": f"Now: {{{{ time }}}}\n{RULES}"})
    (finding,) = report.findings
    assert (finding.code, finding.location.path) == ("PO101", "prompts/system.j2")
    assert report.sources["prompts/system.j2"][finding.location.span] == "{{ time }}"
    assert "by its name" in finding.message
    assert finding.prompt == "prompts/system.j2"
    assert not finding.related
    assert report.files == ("prompts/system.j2",)


def test_templates_of_other_trades_are_left_alone(tmp_path: Path) -> None:
    """Most templates are no prompts."""
    files = {"templates/nginx.conf.j2": f"{{{{ time }}}}{RULES}{{% if %}}", "a.jinja": f"{{{{ now }}}}\n{RULES}"}
    report = project(tmp_path, files)
    assert (report.findings, report.prompts, report.files) == ((), (), ())


def test_role_markers_make_a_prompt(tmp_path: Path) -> None:
    """Wherever the template lies."""
    report = project(tmp_path, {"templates/chat_system.j2": f"<|im_start|>system\n{{{{ time }}}}\n{RULES}"})
    assert codes(report) == [("PO101", "templates/chat_system.j2")]


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        ("{% if x %}", "PO002", "endif"),
        ("a{% endif %}", "PO002", "unknown tag 'endif'"),
        ("{{ x ", "PO002", "end of print statement"),
        (b"caf\xe9", "PO001", "not utf-8"),
        (b"a\0b", "PO001", "NUL"),
        (b"x" * 10_000_000, "PO001", "10 MB, above the limit"),
        (b"x" * 600_000, "PO002", "longer than"),
        ("{{ " + "(" * 5000 + "a" + ")" * 5000 + " }}", "PO002", "nested too deeply"),
    ],
)
def test_prompts_that_cannot_be_read_are_told(tmp_path: Path, content: str | bytes, code: str, words: str) -> None:
    """A broken prompt is a finding at its place, never a crash."""
    report = project(tmp_path, {"prompts/a.j2": content})
    (finding,) = report.findings
    assert (finding.code, finding.location.path) == (code, "prompts/a.j2")
    assert words in finding.message


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("prompts/a.j2", "{{#if x}}{{/if}}"),
        ("prompts/a.j2", "{{ .Items }}"),
        ("a.prompt", "---\nmodel: x\n---\n{{role 'system'}}{{#if y}}{{/if}}"),
        ("prompts/a.j2", "a {%- chat 'x' %}{% endchat %}"),
    ],
)
def test_templates_of_another_engine_are_counted_only(tmp_path: Path, name: str, content: str) -> None:
    """What is not Jinja, or Jinja with tags of somebody's own, is no fault."""
    report = project(tmp_path, {name: content})
    assert report.findings == ()
    assert report.other_templates == 1


def test_what_goes_round_or_out_ends(tmp_path: Path) -> None:
    """Includes of oneself, of a file outside of the project, and loops within loops."""
    (tmp_path / "secret.j2").write_text("{{ time }}" + RULES)
    nest = "{% for a in range(99999) %}" * 40 + "{{ a }}" + "{% endfor %}" * 40
    files: Mapping[str, str | bytes] = {
        "prompts/loop.j2": "{% include 'loop.j2' %}{% extends 'loop.j2' %}",
        "prompts/ping.j2": "{% include 'pong.j2' %}",
        "prompts/pong.j2": "{% include 'ping.j2' %}",
        "prompts/out.j2": "{% include '../../secret.j2' %}{% include '/etc/passwd' %}{% include missing %}",
        "prompts/nest.j2": nest,
        "prompts/macro.j2": "{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}",
    }
    root = tmp_path / "project"
    root.mkdir()
    assert project(root, files).findings == ()


def test_lone_surrogates_are_text(tmp_path: Path) -> None:
    """They cannot be decoded as UTF-8; in an editor's text they can stand."""
    assert codes(project(tmp_path, {"prompts/a.j2": "\ud800"})) == [("PO001", "prompts/a.j2")]
    assert codes(check_text(f"\ud800{{{{ time }}}}\n{RULES}", "prompts/system.j2")) == [("PO101", "prompts/system.j2")]


def test_fragments_are_judged_where_they_are_used(tmp_path: Path) -> None:
    """One finding, in the part, by the prompt that includes it."""
    files: Mapping[str, str | bytes] = {
        "prompts/system.j2": "{% include 'head.j2' %}\n" + RULES,
        "prompts/head.j2": "{{ time }}",
    }
    report = project(tmp_path, files)
    assert [(f.location.path, f.prompt) for f in report.findings] == [("prompts/head.j2", "prompts/system.j2")]


def test_a_template_that_code_renders_has_the_values_that_it_is_given(tmp_path: Path) -> None:
    """Also where nothing shows that its text is sent; what is passed beats what the name says."""
    code = (
        "import datetime\nfrom jinja2 import Environment, FileSystemLoader\n"
        "env = Environment(loader=FileSystemLoader('prompts'))\n"
        "def load(name, **values):\n    return env.get_template(name).render(**values)\n"
        "def build():\n    return load('system.j2', time='noon', x=datetime.datetime.now())\n"
    )
    files: Mapping[str, str | bytes] = {"app.py": code, "prompts/system.j2": f"{{{{ time }}}} {{{{ x }}}}\n{RULES}"}
    (finding,) = project(tmp_path, files).findings
    assert finding.location.span.start == len("{{ time }} ")
    assert "datetime.datetime.now()" in finding.message


def test_a_named_template_is_checked_alone(tmp_path: Path) -> None:
    """As a file of its project."""
    project(
        tmp_path, {"prompts/a_system.j2": f"{{{{ time }}}}\n{RULES}", "prompts/b_system.j2": f"{{{{ now }}}}\n{RULES}"}
    )
    report = check([tmp_path / "prompts/b_system.j2"])
    assert codes(report) == [("PO101", "prompts/b_system.j2")]


@pytest.mark.parametrize(
    "text",
    [
        "{{ time }} {# promptopt: ignore[PO101] #}\n" + RULES,
        "{#- promptopt: ignore[volatile-prefix] -#}\n{{ time }}\n" + RULES,
        "{# promptopt: ignore[PO101] because #}\n{# promptopt: ignore[PO102] #}\n{{ time }}\n" + RULES,
        "a\n{{\n  time\n}} {# promptopt: ignore[PO101] #}\n" + RULES,
        RULES + "{# promptopt: ignore-file[PO101] #}\n{{ time }}\n" + RULES,
    ],
)
def test_comments_of_a_template_silence(text: str) -> None:
    """At the end of a line, alone on the line before, for the whole file."""
    assert [one for one in check_text(text, "prompts/system.j2").findings if one.code == "PO101"] == []


@pytest.mark.parametrize(
    "text",
    [
        "# promptopt: ignore[PO101]\n{{ time }}\n" + RULES,
        "{{ time }}\n{# promptopt: ignore[PO101] #}\n" + RULES,
        "{# promptopt: ignore[PO102] #}\n{{ time }}\n" + RULES,
    ],
)
def test_other_comments_do_not(text: str) -> None:
    """Text of the prompt is no comment; a comment does not reach back."""
    assert "PO101" in {one.code for one in check_text(text, "prompts/system.j2").findings}


def test_an_ignore_at_the_call_covers_the_template(tmp_path: Path) -> None:
    """The statement that renders it."""
    code = (
        "import datetime\nfrom jinja2 import Template\nfrom openai import OpenAI\n"
        "def ask(question):\n"
        "    text = open('system.txt').read()\n"
        "    system = Template(text).render(now=datetime.datetime.now())  # promptopt: ignore[PO101]\n"
        "    messages = [{'role': 'system', 'content': system}, {'role': 'user', 'content': question}]\n"
        "    return OpenAI().chat.completions.create(model='gpt-4o', messages=messages)\n"
    )
    files: Mapping[str, str | bytes] = {"app.py": code, "system.txt": f"{{{{ now }}}}\n{RULES}"}
    assert codes(project(tmp_path, files)) == []
    code = code.replace("  # promptopt: ignore[PO101]", "")
    (finding,) = project(tmp_path, {**files, "app.py": code}).findings
    assert (finding.code, finding.location.path, finding.severity) == ("PO101", "system.txt", Severity.INFO)


def test_delimiters_from_the_configuration(tmp_path: Path) -> None:
    """They cut templates that nothing in the code renders; nonsense ends the run with a word for it."""
    table = '[templates]\nvariable-start-string = "<<"\nvariable-end-string = ">>"\n'
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts/system.j2").write_text(f"<< time >> {{{{ no tag }}}}\n{RULES}")
    (tmp_path / "promptopt.toml").write_text(table)
    (finding,) = check([tmp_path]).findings
    assert (finding.code, finding.subject) == ("PO101", "time")
    (tmp_path / "promptopt.toml").write_text('[templates]\nvariable-start-string = "{%"\n')
    with pytest.raises(ConfigError, match="different start delimiters"):
        check([tmp_path])
    (tmp_path / "promptopt.toml").write_text("[templates]\ntrim-block = true\n")
    with pytest.raises(ConfigError, match="did you mean 'trim-blocks'"):
        check([tmp_path])


@pytest.mark.parametrize(("name", "severity"), [("time", Severity.WARNING), ("user_name", Severity.INFO)])
def test_a_name_that_is_no_time_is_a_hint(name: str, severity: Severity) -> None:
    """What nothing is seen to send, and whose name is all that is known, is told as such."""
    (finding,) = check_text(
        f"{{{{ {name} }}}}\n{RULES * 20}", "prompts/system.j2", Config(Path.cwd(), select=("PO1",))
    ).findings
    assert finding.severity is severity


def test_a_folder_of_prompts_checked_alone(tmp_path: Path) -> None:
    """Without a project around it the folder is the project; its name says what its templates are."""
    folder = tmp_path / "prompts"
    folder.mkdir()
    (folder / "a.j2").write_text(f"{{{{ time }}}}\n{RULES}")
    (folder / "b.j2").write_bytes(b"\xff")
    assert codes(check([folder])) == [("PO101", "a.j2"), ("PO001", "b.j2")]
    assert codes(check([folder / "a.j2"])) == [("PO101", "a.j2")]


def test_a_template_that_a_request_sends_is_known_to_be_a_prompt(tmp_path: Path) -> None:
    """Its faults are told wherever it lies; those of a page are not."""
    code = (
        "from jinja2 import Environment, FileSystemLoader\nfrom openai import OpenAI\n"
        "env = Environment(loader=FileSystemLoader('templates'))\n"
        "def ask(question):\n"
        "    text = env.get_template('clerk.j2').render()\n"
        "    return OpenAI().responses.create(model='gpt-5', instructions=text, input=question)\n"
        "def page():\n"
        "    return env.get_template('page.j2').render()\n"
    )
    files = {"app.py": code, "templates/clerk.j2": "{% if x %}", "templates/page.j2": "{% if x %}"}
    assert codes(project(tmp_path, files)) == [("PO002", "templates/clerk.j2")]
