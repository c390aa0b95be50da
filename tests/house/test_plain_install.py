"""What `pip install handrail` brings is counted, from the metadata of what is installed here."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
MOST_PACKAGES = 16
"""Handrail itself included. Only ever lowered: each is code that runs with the user's rights."""


def plain_install(named: Sequence[str], requires: Callable[[str], Sequence[str]]) -> set[str]:
    """Every package that these requirements bring, without their optional ones."""
    found: set[str] = set()
    waiting = [(Requirement(text), "") for text in named]
    while waiting:
        wanted, extra = waiting.pop()
        if wanted.marker is not None and not wanted.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(wanted.name)
        known = f"{name}[{','.join(sorted(wanted.extras))}]"
        if known not in found:
            found.add(known)
            inner = [Requirement(text) for text in requires(name)]
            waiting += [(one, asked) for one in inner for asked in ("", *wanted.extras)]
    return {known.partition("[")[0] for known in found}


def _requires(name: str) -> Sequence[str]:
    return distribution(name).requires or ()


def test_a_plain_install_brings_few_packages() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]

    brought = {"handrail"} | plain_install(declared, _requires)

    assert len(brought) <= MOST_PACKAGES, sorted(brought)
    assert {"mcp", "pydantic", "starlette", "anyio", "httpx"} & brought == set()


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        (["a"], {"a", "b"}),
        (["a[more]"], {"a", "b", "c"}),
        (["c ; sys_platform == 'no-such'"], set()),
        (["A", "b"], {"a", "b"}),
    ],
)
def test_every_package_is_counted_once(named: list[str], expected: set[str]) -> None:
    declared = {"a": ["b>=1", "c ; extra == 'more'"], "b": ["a"], "c": []}

    assert plain_install(named, declared.__getitem__) == expected
