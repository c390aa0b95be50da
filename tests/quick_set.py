"""Which tests run: the quick set, unless a file or a mark is asked for.

A test that is expensive and rarely tells something new is marked `thorough`. Where a whole file is, its
`pytestmark` begins with that mark; the quick set does not even import it, because making the parameters of
such files takes longer than many tests. `-m thorough` runs what the quick set leaves out, and nothing else.
A file that is named on the command line runs whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

THOROUGH = "thorough"
QUICK = "not thorough"
MARK = "pytest.mark.thorough"
_WHOLE_FILE = re.compile(rf"^pytestmark = \[?\s*{re.escape(MARK)}\b", re.MULTILINE)
_LEFT_OUT = "left_out"
_left_out = pytest.StashKey[dict[str, int]]()
"""How many tests of each file; 0 for a file that was not even imported."""


def is_wholly_thorough(text: str) -> bool:
    return _WHOLE_FILE.search(text) is not None


def is_collected(text: str, chosen: str) -> bool:
    """Whether a file of tests with this text can hold a test that is chosen by this `-m`."""
    if chosen == QUICK:
        return not is_wholly_thorough(text)
    return chosen != THOROUGH or THOROUGH in text


def all_but_thorough(cases: Iterable[Any], step: int) -> list[Any]:
    """Parameters, one or a tuple for each test, of which every so many are in the quick set."""
    return [
        case
        if not place % step
        else pytest.param(*(case if type(case) is tuple else (case,)), marks=pytest.mark.thorough)
        for place, case in enumerate(cases)
    ]


def pytest_configure(config: pytest.Config) -> None:
    """The workers of xdist have the choice from their parent."""
    config.stash[_left_out] = {}
    if not config.option.markexpr and not any(_names_a_file(word) for word in config.args):
        config.option.markexpr = QUICK


def _names_a_file(word: str) -> bool:
    return word.partition("::")[0].endswith(".py")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if not collection_path.match("test_*.py"):
        return None
    if is_collected(collection_path.read_text(encoding="utf-8"), config.option.markexpr):
        return None
    if config.option.markexpr == QUICK:
        config.stash[_left_out][_place(collection_path, config)] = 0
    return True


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker(THOROUGH):
            left_out, place = item.config.stash[_left_out], _place(item.path, item.config)
            left_out[place] = left_out.get(place, 0) + 1
            if left_out[place] == 1 and not is_collected(item.path.read_text(encoding="utf-8"), THOROUGH):
                raise pytest.UsageError(f"{place} does not say `{THOROUGH}`: no run finds {item.name}")


def _place(path: Path, config: pytest.Config) -> str:
    return path.relative_to(config.rootpath).as_posix()


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        left_out = session.config.stash[_left_out]
        session.config.workeroutput[_LEFT_OUT] = left_out


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Each worker collects all; a worker that died has nothing to say."""
    config: pytest.Config = node.config
    told: dict[str, int] = getattr(node, "workeroutput", {}).get(_LEFT_OUT, {})
    left_out = config.stash[_left_out]
    left_out.update(told)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    left_out = config.stash[_left_out]
    if config.option.markexpr == QUICK and left_out:
        terminalreporter.write_line(tell_left_out(left_out))


def tell_left_out(left_out: Mapping[str, int]) -> str:
    whole = [place for place, count in left_out.items() if not count]
    rooms = ", ".join(sorted({place.removeprefix("tests/").partition("/")[0] for place in left_out}))
    return (
        f"The quick set left out {len(whole)} whole files and {sum(left_out.values())} tests of other files"
        f" ({rooms}). They run with: uv run pytest -n auto -m {THOROUGH}"
    )
