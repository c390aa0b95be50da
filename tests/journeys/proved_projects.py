"""Small projects with a history, and what proves the change that was made to them, with real programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from handrail.contract.outcome import Outcome, Success
from handrail.runtime.hub import perform
from handrail.wiring import build_runtime
from tests.worktree.repositories import commit, run_git, write

PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
UNITTEST = (sys.executable, "-m", "unittest")
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""No plugin of this project's own tests."""
GONE = ""
"""In place of a content: the file is removed."""

CODE = "def bill(parts):\n    return sum(round(part) for part in parts)\n"
FIXED = "def bill(parts):\n    return round(sum(parts))\n"
OLD_TEST = "from bills import bill\n\n\ndef test_whole():\n    assert bill([1, 2]) == 3\n"
NEW_TEST = OLD_TEST + "\n\ndef test_halves():\n    assert bill([0.4, 0.4, 0.4]) == 1\n"
START = {"bills.py": CODE, "test_bills.py": OLD_TEST}


class Proved:
    """A project in a folder of its own."""

    def __init__(self, folder: Path, files: Mapping[str, str] = START) -> None:
        self.root = folder / "project"
        self.home = folder / "home"
        self.root.mkdir()
        run_git(self.root, "init", "-q", "-b", "main")
        self.change(files)
        commit(self.root)

    def change(self, files: Mapping[str, str]) -> None:
        for path, text in files.items():
            if text == GONE:
                (self.root / path).unlink()
                continue
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            write(self.root, path, text)

    def declare(self, command: tuple[str, ...] = PYTEST, **more: Any) -> None:
        """Declare the check `tests`, in a commit of its own."""
        own = {"command": command, "environment": ALONE, **more}
        self.change({".handrail/config.json": json.dumps({"checks": {"tests": own}})})
        commit(self.root)

    def ask(self, variables: Mapping[str, str] | None = None, **params: Any) -> Outcome:
        environment = {
            "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.home),
            **(variables or {}),
        }
        runtime = build_runtime(environment, home=str(self.home))
        return perform(runtime, "check.prove", {"project": str(self.root), **params})

    def prove(self, variables: Mapping[str, str] | None = None, **params: Any) -> dict[str, Any]:
        """The only check of the answer, whatever its word."""
        outcome = self.ask(variables, **params)
        data: Any = outcome.data if isinstance(outcome, Success) else outcome.details["proof"]
        (found,) = data["checks"]
        proven: dict[str, Any] = found
        return proven
