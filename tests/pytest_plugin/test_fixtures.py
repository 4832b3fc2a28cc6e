"""The marker and the fixtures in real runs, beside pytest-xdist and under every import mode."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.pytest_plugin.conftest import Run

pytest_plugins = ["pytester"]

MARKED = """\
import pytest

pytestmark = pytest.mark.token_budget(30)
WORDS = {"model": "gpt-4o", "messages": [{"role": "user", "content": "word " * 50}]}


@pytest.mark.token_budget(100, model="gpt-4o")
def test_within(llm_calls):
    llm_calls.wrap(lambda **_: None)(**WORDS)


def test_over(llm_calls):
    llm_calls.wrap(lambda **_: None)(**WORDS)


def test_rendered(render_prompt):
    assert render_prompt("answer.j2", question="Where?").endswith("Where?")


def test_rendered_and_over(render_prompt):
    render_prompt("answer.j2", question="Where? " * 30)


def test_nothing():
    pass


def test_fails_anyway(render_prompt):
    render_prompt("answer.j2", question="Where? " * 30)
    assert 1 == 2


class TestClass:
    @pytest.mark.token_budget(max_tokens=10)
    def test_method(self, render_prompt):
        render_prompt("answer.j2", question="Where is my parcel?")


@pytest.mark.token_budget(800, modle="gpt-4o")
def test_unknown_argument():
    pass


@pytest.mark.token_budget(-1)
def test_negative():
    pass


@pytest.mark.token_budget(10, model="gpt-4o-minni")
def test_unknown_model():
    pass


@pytest.mark.token_budget
def test_no_number():
    pass
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A template, and a test file in a folder of its own."""
    pytester.makefile(".j2", answer="Answer from the handbook only.\n{{ question }}")
    pytester.mkdir("tests")
    (pytester.path / "tests" / "test_marked.py").write_text(MARKED)
    return pytester


@pytest.mark.usefixtures("project")
def test_marked_tests(run: Run) -> None:
    """Each kind of outcome, each with its message."""
    result = run("--strict-markers", "-rN")
    result.assert_outcomes(passed=2, failed=5, errors=4)
    result.stdout.fnmatch_lines_random(
        [
            "request 0 (stand-in) has 58 tokens, 28 over its budget of 30",
            "  0: user  55",
            "answer.j2 has 67 tokens, 37 over its budget of 30",
            "marker token_budget: the test has rendered and sent no prompt, so that its budget holds for nothing",
            "  watched: httpx, httpx2, *",
            "E       assert 1 == 2",
            "answer.j2 has 11 tokens, 1 over its budget of 10",
            "marker token_budget: unknown argument 'modle': did you mean 'model'?",
            "marker token_budget: max_tokens is -1: give a number of tokens, at least 1",
            "marker token_budget: unknown model 'gpt-4o-minni'*did you mean 'gpt-4o-mini'*",
            "marker token_budget: give one number of tokens: token_budget(800)",
        ]
    )
    result.stdout.no_fnmatch_line("*pytest_plugin*")


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("mode", ["prepend", "append", "importlib"])
def test_import_modes_and_workers(run: Run, mode: str) -> None:
    """The same outcomes; under pytest-xdist, too, where it is installed."""
    words = ["--import-mode", mode]
    if mode == "importlib":
        pytest.importorskip("xdist", reason="needs pytest-xdist")
        run(*words, "-n", "2", plugins=("xdist",)).assert_outcomes(passed=2, failed=5, errors=4)
    else:
        run(*words).assert_outcomes(passed=2, failed=5, errors=4)


RENDERING = """\
import pytest
from pytest_promptopt import PromptBudgetError, assert_token_budget


def test_samples(render_prompt):
    assert render_prompt("prompts/answer.j2", samples={"question": "Where?", "now": "noon"}) == "Rules.\\nWhere? noon"
    assert render_prompt("prompts/answer.j2", samples="samples.toml", now="noon") == "Rules.\\nWhen? noon"
    assert render_prompt("prompts/configured.j2") == "When? night"


def test_roles(render_prompt):
    prompt = render_prompt("prompts/chat.j2", question="Where?")
    assert [(message.role, message.texts) for message in prompt.prompt.messages] == [
        ("system", ("Rules.",)), ("user", ("Where?",))
    ]
    assert_token_budget(prompt, 20)
    over = "^prompts/chat.j2 has about 15 tokens, 10 over its budget of 5\\n  [01]: "
    with pytest.raises(PromptBudgetError, match=over):
        assert_token_budget(prompt, 5)


def test_texts(render_prompt):
    assert render_prompt("rules.md") == "Rules {and} braces."
    assert render_prompt("form.txt", question="Where?") == "Q: Where?"
    assert render_prompt("beside.txt") == "in the test's folder"
    assert render_prompt("card.prompty", question="Where?") == "Where?"


def test_own_environment(render_prompt):
    from jinja2 import Environment

    environment = Environment()
    environment.filters["loud"] = str.upper
    assert render_prompt("loud.j2", environment=environment, question="where?") == "WHERE?"


def test_the_test_file_is_no_prompt(render_prompt):
    with pytest.raises(ValueError, match="missing.j2: no such file in /"):
        render_prompt("missing.j2")
    undefined = "prompts/answer.j2: 'now' is undefined: pass it to render_prompt, or give samples"
    with pytest.raises(ValueError, match=undefined):
        render_prompt("prompts/answer.j2", question="Where?")
    with pytest.raises(ValueError, match="form.txt: 'question' is undefined"):
        render_prompt("form.txt", answer="Here.")
    with pytest.raises(ValueError, match="loud.j2:1: No filter named 'loud'"):
        render_prompt("loud.j2", question="where?")
    with pytest.raises(ValueError, match="dot.prompt has front matter"):
        render_prompt("dot.prompt", question="where?")
    with pytest.raises(ValueError, match="unsafe.j2: access to attribute '__class__'"):
        render_prompt("unsafe.j2", question="where?")
"""


def test_rendering(pytester: pytest.Pytester, run: Run) -> None:
    """Templates with includes from the folders above, samples, roles, texts; what cannot be rendered says why."""
    files = {
        "prompts/answer.j2": "{% include 'parts/rules.j2' %}\n{{ question }} {{ now }}",
        "parts/rules.j2": "Rules.",
        "prompts/configured.j2": "{{ question }} {{ now }}",
        "prompts/chat.j2": "system:\nRules.\n\nuser:\n{{ question }}\n",
        "samples.toml": 'question = "When?"\nnow = "night"',
        "rules.md": "Rules {and} braces.",
        "form.txt": "Q: {question}",
        "card.prompty": "---\nname: Card\n---\n{{ question }}",
        "dot.prompt": "---\nmodel: x\n---\n{{ question }}",
        "loud.j2": "{{ question | loud }}",
        "unsafe.j2": "{{ question.__class__.__mro__ }}",
        "tests/beside.txt": "in the test's folder",
        "tests/test_rendering.py": RENDERING,
        "promptopt.toml": '[budgets]\n"prompts/configured.j2" = {tokens = 50, samples = "samples.toml"}\n',
    }
    for name, text in files.items():
        (pytester.path / name).parent.mkdir(exist_ok=True)
        (pytester.path / name).write_text(text)
    run().assert_outcomes(passed=5)


def test_loading_the_plugin_loads_next_to_nothing(pytester: pytest.Pytester, run: Run) -> None:
    """Nor does a run that does not use it; it registers no hook for tests then."""
    pytester.makeconftest(
        "import sys\n\n"
        "def pytest_sessionfinish(session):\n"
        "    names = [name for name in sys.modules if name.startswith(('promptopt', 'pytest_promptopt', 'jinja2'))]\n"
        "    print('LOADED', *sorted(names))\n"
        "    print('HOOKS', session.config.pluginmanager.has_plugin('promptopt-token-budgets'))\n"
    )
    pytester.makepyfile("def test_it():\n    pass\n")
    result = run("-s")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*LOADED pytest_promptopt pytest_promptopt.plugin", "HOOKS False"])
    code = (
        "import sys, pytest; before = set(sys.modules); "
        "import pytest_promptopt.plugin; print(*set(sys.modules) - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"pytest_promptopt", "pytest_promptopt.plugin"}


def test_the_fixtures_are_told(pytester: pytest.Pytester, run: Run) -> None:
    """By `--fixtures` and `--markers`."""
    pytester.makepyfile("def test_it():\n    pass\n")
    run("--fixtures").stdout.fnmatch_lines_random(["llm_calls -- *", "render_prompt -- *"])
    run("--markers").stdout.fnmatch_lines(["@pytest.mark.token_budget(max_tokens, model=None, encoding=None): *"])
