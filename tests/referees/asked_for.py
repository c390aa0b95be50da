"""Runs tests that are too long, or need too much, for every run: `python -m tests.referees.asked_for NAME`.

`console` is a real browser, with Chromium from the distribution if it can be had; `managers` are pip and
pipx; `extras` are the libraries of the optional dependencies; `properties` tries six times the examples of
every run. What cannot be had, the tests name and skip.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence

TESTS: dict[str, tuple[str, ...]] = {
    "console": ("-n", "0", "tests/referees/test_console.py", "tests/referees/test_team_console.py"),
    "managers": ("-n", "auto", "-m", "other_manager", "tests/updates"),
    "extras": ("-n", "0", "tests/referees/test_extras.py"),
    "properties": ("-n", "auto", "-m", "hypothesis", "--hypothesis-profile", "thorough"),
}
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INSTALL_SECONDS = 300


def main(names: Sequence[str]) -> int:
    unknown = [name for name in names if name not in TESTS]
    if unknown or not names:
        print(f"Name what to run: {', '.join(TESTS)}.")
        return 2
    statuses = []
    for name in names:
        trouble = install_chromium() if name == "console" else ""
        if trouble:
            print(trouble, flush=True)
        command = [sys.executable, "-m", "pytest", "-rs", *TESTS[name]]
        around = {**os.environ, f"HANDRAIL_TEST_{name.upper()}": "1"}
        statuses.append(subprocess.run(command, cwd=ROOT, env=around, check=False).returncode)
    return max(statuses)


def install_chromium() -> str:
    """Why there is no Chromium; empty: there is one."""
    if os.environ.get("HANDRAIL_TEST_CHROMIUM") or shutil.which("chromium"):
        return ""
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return "There is no Chromium, and this account cannot install one."
    command = ["apt-get", "install", "--quiet", "--yes", "chromium"]
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=INSTALL_SECONDS)
    except subprocess.TimeoutExpired:
        return f"Installing Chromium took more than {INSTALL_SECONDS} s."
    return "" if done.returncode == 0 else "The distribution has no Chromium for us."


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
