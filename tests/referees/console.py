"""Runs the browser tests of the Console, with Chromium from the distribution if it can be had.

`python -m tests.referees.console`; without Chromium each test says what is missing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

INSTALL_SECONDS = 300


def main() -> int:
    trouble = install_chromium()
    if trouble:
        print(trouble, flush=True)
    tests = os.path.join(os.path.dirname(os.path.abspath(__file__)), "test_console.py")
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-rs", tests]
    return subprocess.run(command, env={**os.environ, "HANDRAIL_TEST_CONSOLE": "1"}, check=False).returncode


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
    raise SystemExit(main())
