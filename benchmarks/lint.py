"""How fast `promptopt check` is on a tree, next to what reading it must cost: prints one JSON line.

Usage: python benchmarks/lint.py TREE [--repeat N]

The floor is what no analysis of that tree can do without: read every Python file that the product
read, search its bytes for the names of SDKs, and `ast.parse` every file that the link step needed, with
the garbage collector off as in the product. Floor and product run one after the other in fresh
processes, cold, on one worker; each figure is the best of `--repeat` runs. CPU seconds are user and
system time of a whole process, its start included. docs/benchmarks.md explains the fields.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

SOURCE = Path(__file__)
STARTS = 9
"""Runs of which the median tells the cost of a start."""

ONE_FILE_LINES = 200
ONE_FILE_CALL = '''

def answer_{number}(client: OpenAI, question: str) -> str:
    """Answer one kind of question."""
    now = datetime.now().isoformat(timespec="minutes")
    system = f"{{RULES}}\\nIt is {{now}}.\\nThis is desk {number}."
    messages = [{{"role": "system", "content": system}}, {{"role": "user", "content": question}}]
    if len(question) > 1000:
        messages.append({{"role": "user", "content": "Be brief."}})
    completion = client.chat.completions.create(model="gpt-5", messages=messages, max_completion_tokens=200)
    return completion.choices[0].message.content or ""
'''


def main() -> int:
    """Print the figures of one tree."""
    parser = argparse.ArgumentParser(description="Measure promptopt check on TREE; prints one JSON line.")
    parser.add_argument("tree", type=Path)
    parser.add_argument("--repeat", type=int, default=1, help="runs of which the best counts (default: 1)")
    options = parser.parse_args()
    if not options.tree.is_dir():
        parser.error(f"{options.tree} is not a folder")
    with tempfile.TemporaryDirectory() as cache:
        # byte code is there, as after an install; the checkout stays clean
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = cache
        one_file_cpu()
        print(json.dumps(figures(options.tree.resolve(), options.repeat)))
    return 0


def figures(tree: Path, repeat: int) -> dict[str, Any]:
    """All fields of the result, in order."""
    stages = best((json.loads(worker("--stages", str(tree))) for _ in range(repeat)), "link_seconds")
    files = stages.pop("files")
    needed = stages.pop("needed")
    request = json.dumps({"tree": str(tree), "files": files, "needed": needed})
    floor = best((json.loads(worker("--floor", request=request)) for _ in range(repeat)), "cpu_seconds")
    product = best(
        (run(promptopt("check", str(tree), "--isolated", "--exit-zero")) for _ in range(repeat)), "cpu_seconds"
    )
    return {
        "files": len(files),
        "lines": stages.pop("lines"),
        "files_needed": len(needed),
        "floor_cpu_seconds": round(floor["cpu_seconds"], 3),
        "cpu_seconds": round(product["cpu_seconds"], 3),
        "ratio": round(product["cpu_seconds"] / floor["cpu_seconds"], 2),
        **{name: round(value, 3) if isinstance(value, float) else value for name, value in stages.items()},
        "link_seconds_per_1000_files": round(stages["link_seconds"] * 1000 / max(len(files), 1), 3),
        "peak_memory_mb": round(product["peak_memory_mb"], 1),
        "version_ratio": round(version_ratio(), 2),
        "one_file_cpu_seconds": round(min(one_file_cpu() for _ in range(3)), 3),
    }


def best(runs: Any, field: str) -> dict[str, Any]:
    """The run with the smallest figure."""
    found: dict[str, Any] = min(runs, key=lambda result: result[field])
    return found


def worker(*arguments: str, request: str = "") -> str:
    """Standard output of this script in a fresh interpreter.

    Raises:
        RuntimeError: it failed; the message ends with what it wrote to stderr.
    """
    done = subprocess.run(
        [sys.executable, str(SOURCE), *arguments], input=request, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)}: exit {done.returncode}: {done.stderr.strip()[-1000:]}")
    return done.stdout


def run(command: Sequence[str]) -> dict[str, float]:
    """CPU seconds and peak memory in MB of a command.

    Raises:
        RuntimeError: it exited with anything but 0.
    """
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    stderr = process.stderr.read() if process.stderr else ""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit {process.returncode}: {stderr.strip()[-1000:]}")
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return {"cpu_seconds": usage.ru_utime + usage.ru_stime, "peak_memory_mb": usage.ru_maxrss / unit}


def promptopt(*arguments: str) -> list[str]:
    """The installed command, run by this interpreter."""
    return [sys.executable, str(Path(sys.executable).with_name("promptopt")), *arguments]


def version_ratio() -> float:
    """CPU of `promptopt --version` over that of an interpreter that does nothing."""
    commands = (promptopt("--version"), [sys.executable, "-c", "pass"])
    version, bare = (statistics.median(run(command)["cpu_seconds"] for _ in range(STARTS)) for command in commands)
    return version / bare


def one_file_cpu() -> float:
    """CPU seconds of checking one file of 200 lines that is a project of its own."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "desk.py")
        file.write_text(one_file(), encoding="utf-8")
        return run(promptopt("check", str(file), "--isolated", "--exit-zero"))["cpu_seconds"]


def one_file() -> str:
    """A program of 200 lines with as many calls as fit after its rules."""
    text = "from datetime import datetime\n\nfrom openai import OpenAI\n\nRULES = '''\n"
    text += "Answer the customer's question from the handbook, politely and in two sentences.\n" * 20 + "'''\n"
    calls = (ONE_FILE_LINES - text.count("\n")) // ONE_FILE_CALL.count("\n")
    text += "".join(ONE_FILE_CALL.format(number=number) for number in range(calls))
    return text + "\n" * (ONE_FILE_LINES - text.count("\n"))


def measure_stages(tree: Path) -> None:
    """Read and link `tree` as `check` does; print which files mattered and what each stage took."""
    # imported here because the floor, which runs from this file too, must not pay for it
    from promptopt import lint, project  # noqa: PLC0415
    from promptopt.config import load_config  # noqa: PLC0415
    from promptopt.project.walk import walk  # noqa: PLC0415

    config = load_config([tree], isolated=True)
    collecting, linking = Stage("collect", lint, project), Stage("link", lint, project)
    read = lint.read_project([tree], config, {})
    files = walk(config.root, config)
    result = {
        "files": files,
        "lines": sum((config.root / file).read_bytes().count(b"\n") for file in files),
        "needed": sorted(collecting.result.modules),
        "collect_seconds": collecting.seconds,
        "link_seconds": linking.seconds,
        "prompts": len(read.prompts),
        "calls": len(read.calls),
        "bounds_hit": read.bounds_hit,
    }
    print(json.dumps(result))


class Stage:
    """Stands in for a function of the product and keeps its CPU seconds and its result."""

    def __init__(self, name: str, *modules: ModuleType) -> None:
        self.seconds = 0.0
        self.result: Any = None
        holders = [module for module in modules if hasattr(module, name)]
        self._function = getattr(holders[0], name)
        for module in holders:
            setattr(module, name, self)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the function."""
        started = time.process_time()
        self.result = self._function(*arguments, **options)
        self.seconds += time.process_time() - started
        return self.result


def measure_floor(tree: Path, files: Sequence[str], needed: Sequence[str]) -> None:
    """Read and search `files` of `tree`, parse those `needed`; print the CPU seconds of this process."""
    gc.disable()
    warnings.simplefilter("ignore")
    wanted = frozenset(needed)
    names = re.compile(
        rb"^[ \t]*(?:from|import)[ \t]+(?:openai|anthropic|litellm|google|langchain|llama_index)\b", re.MULTILINE
    )
    for file in files:
        content = (tree / file).read_bytes()
        names.search(content)
        if file in wanted:
            ast.parse(content)
    print(json.dumps({"cpu_seconds": time.process_time()}))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--stages"]:
        measure_stages(Path(sys.argv[2]))
    elif sys.argv[1:2] == ["--floor"]:
        asked = json.load(sys.stdin)
        measure_floor(Path(asked["tree"]), asked["files"], asked["needed"])
    else:
        sys.exit(main())
