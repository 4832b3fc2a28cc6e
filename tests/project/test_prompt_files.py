"""Which template files are taken for prompts."""

from __future__ import annotations

import pytest

from promptopt.project.prompt_files import has_role_markers, is_named_as_prompt, is_of_another_engine


@pytest.mark.parametrize(
    "path",
    [
        "prompts/system.j2", "app/prompts/a/b.jinja", "a/extract_prompt.jinja2", "a/prompt_header.j2", "a/b.prompt",
        "a/b.prompt.j2", "a/Prompts/x.j2", "agents/coder/prompt.jinja2", "a/chat-prompt-v2.j2",
    ],
)  # fmt: skip
def test_names_of_prompts(path: str) -> None:
    """A name, or that of a folder, with the word prompt in it."""
    assert is_named_as_prompt(path)


@pytest.mark.parametrize("path", ["roles/nginx/templates/nginx.conf.j2", "promptly/a.j2", "a/prompter.j2", "a.jinja"])
def test_names_of_other_templates(path: str) -> None:
    """Words that only begin like it say nothing."""
    assert not is_named_as_prompt(path)


@pytest.mark.parametrize(
    "text", ["<|im_start|>system\n", "a\nsystem:\nYou", "# system:\n", "[INST] {{ x }} [/INST]", "<start_of_turn>user"]
)
def test_role_markers(text: str) -> None:
    """What chat models and prompt tools mark turns with."""
    assert has_role_markers(text)


@pytest.mark.parametrize("text", ["system: up", "user:\n  name: x\n", "operating system:", "<|x|>"])
def test_no_role_markers(text: str) -> None:
    """Configuration has similar words."""
    assert not has_role_markers(text)


@pytest.mark.parametrize(
    "text",
    ["{{#if x}}", "{{/each}}", "{{> part}}", "{{else}}", "{{{x}}}", "{{ .Values.x }}", "{{- range .x }}", "<% x %>"],
)
def test_tags_of_other_engines(text: str) -> None:
    """Handlebars, Mustache, Go and ERB."""
    assert is_of_another_engine(text)


@pytest.mark.parametrize("text", ["{{ x }}", "{% if x %}", "{{ range(3) }}", "{{ end }}s", "{{ if_none }}", "{x}"])
def test_tags_of_jinja(text: str) -> None:
    """Names that begin like a keyword of another engine are names."""
    assert not is_of_another_engine(text)
