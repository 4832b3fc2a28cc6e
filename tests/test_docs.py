"""What the pages show is what the commands print and accept."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from promptopt import load_config

ROOT = Path(__file__).parent.parent
PROMPTOPT = Path(sys.executable).with_name("promptopt")
README = (ROOT / "README.md").read_text("utf-8")
CONFIGURATION = (ROOT / "docs" / "configuration.md").read_text("utf-8")


def printed(*arguments: str) -> str:
    """What the command prints into a pipe 100 columns wide."""
    environment = {**os.environ, "COLUMNS": "100", "PYTHONIOENCODING": "utf-8"}
    command = [str(PROMPTOPT), *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", check=False).stdout


@pytest.mark.parametrize(
    "command", ["check examples", "show examples/support_assistant/chat.py", "budget examples/support_assistant --all"]
)
def test_shown_output_is_real(command: str) -> None:
    """Each passage of the block after `$ promptopt ...` stands in the real output; `...` leaves something out."""
    block = re.search(rf"```\n\$ promptopt {re.escape(command)}\n(.*?)```", README, re.DOTALL)
    assert block
    output = printed(*command.split())
    for passage in re.split(r"^\.\.\.\n", block[1], flags=re.MULTILINE):
        assert passage in output


def test_rules_listed_are_the_rules_there_are() -> None:
    """The table of rules names each rule once, with its code."""
    listed = re.findall(r"(PO\d+) ([a-z][a-z-]+)", README.partition("| rule | finds |")[2].partition("\n\n")[0])
    assert sorted(listed) == sorted(re.findall(r"^(PO\d+) +([a-z-]+)", printed("rule"), re.MULTILINE))


def test_every_configuration_key_is_documented() -> None:
    """The table of keys and the settings that a run has are the same."""
    table = CONFIGURATION.partition("## Keys")[2].partition("\n\nA word in")[0]
    documented = re.findall(r"^\| `([\w-]+)", table, re.MULTILINE)
    settings = re.findall(r"^([\w-]+) =", printed("check", "--isolated", "--show-settings"), re.MULTILINE)
    assert sorted(documented) == sorted(set(settings) - {"root", "file"})


@pytest.mark.parametrize("page", ["README.md", "docs/configuration.md"])
def test_configuration_shown_is_accepted(page: str, tmp_path: Path) -> None:
    """Each TOML block of the page can be pasted into a `pyproject.toml`."""
    blocks = re.findall(r"```toml\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        file = tmp_path / "pyproject.toml"
        file.write_text(block, "utf-8")
        assert load_config([tmp_path]).file == file


def test_links_lead_somewhere() -> None:
    """Relative links of all pages name files that exist."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    links = [(page, link) for page in pages for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8"))]
    assert links
    assert [(page.name, link) for page, link in links if not (page.parent / link).exists()] == []
