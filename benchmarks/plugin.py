"""What the pytest plugin costs a suite that does not use it.

    python benchmarks/plugin.py [--tests 2000] [--repeat 9]

Runs a made-up suite of empty tests with and without the plugin, in turns, each in a process of its own, and prints one
JSON line: medians of CPU seconds (user and system), the median of the differences between neighbouring runs, and how
far these differences spread (half of them lie within). `import_ms` is what `-X importtime` says of its modules.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

FILES = 20


def suite(folder: Path, tests: int) -> None:
    """Empty tests in some files, with a marker and a fixture as suites have them."""
    for number in range(FILES):
        functions = (f"def test_{n}(value):\n    assert value\n" for n in range(tests // FILES))
        head = "import pytest\n\npytestmark = pytest.mark.filterwarnings('error')\n\n"
        fixture = "@pytest.fixture\ndef value():\n    return 1\n\n\n"
        (folder / f"test_{number}.py").write_text(head + fixture + "\n\n".join(functions), "utf-8")


def cpu_seconds(folder: Path, *, plugin: bool) -> float:
    """CPU of one run, the interpreter's start included."""
    chosen = ("-p", "pytest_promptopt.plugin") if plugin else ()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen, str(folder)]
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONHASHSEED": "0"}
    before = os.times()
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def import_milliseconds() -> float:
    """What importing the plugin's modules takes beside pytest, the best of five."""
    command = [sys.executable, "-X", "importtime", "-c", "import pytest, pytest_promptopt.plugin"]
    times = []
    for _ in range(5):
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stderr
        own = re.findall(r"import time: +(\d+) \| +\d+ \| +pytest_promptopt", printed)
        times.append(sum(map(int, own)) / 1000)
    return min(times)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tests", type=int, default=2000, help="tests in the suite [2000]")
    parser.add_argument("--repeat", type=int, default=9, help="runs of each kind [9]")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        suite(folder, options.tests)
        cpu_seconds(folder, plugin=True)  # byte code is compiled here
        pairs = [(cpu_seconds(folder, plugin=False), cpu_seconds(folder, plugin=True)) for _ in range(options.repeat)]
    differences = sorted(with_it - without for without, with_it in pairs)
    quarter = len(differences) // 4
    print(
        json.dumps(
            {
                "tests": options.tests,
                "without_cpu_seconds": round(statistics.median(one for one, _ in pairs), 3),
                "with_cpu_seconds": round(statistics.median(one for _, one in pairs), 3),
                "difference_cpu_seconds": round(statistics.median(differences), 3),
                "spread_cpu_seconds": [round(differences[quarter], 3), round(differences[-1 - quarter], 3)],
                "import_ms": import_milliseconds(),
            }
        )
    )


if __name__ == "__main__":
    main()
