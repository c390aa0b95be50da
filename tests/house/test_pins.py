"""Every package that is installed with this one has an exact version in pyproject.toml (decision 0002)."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution

from packaging.requirements import Requirement

from tests.house.tree import page


def test_every_direct_and_indirect_dependency_is_pinned() -> None:
    metadata = tomllib.loads(page("pyproject.toml").text)
    pins = {_plain(pin.partition("==")[0]) for pin in metadata["tool"]["uv"]["constraint-dependencies"]}
    optional = metadata["project"].get("optional-dependencies", {}).values()
    direct = [*metadata["project"]["dependencies"], *metadata["dependency-groups"]["dev"]]

    found = _needed([*direct, *(line for lines in optional for line in lines)])

    assert {"msgspec", "mcp", "pytest"} <= found, "the walk reaches what we know to be there"
    assert sorted(found - pins) == []


def _needed(lines: list[str]) -> set[str]:
    """Names of all that these lines ask for on this machine, with what those ask for."""
    found: set[str] = set()
    waiting = [(Requirement(line), frozenset({""})) for line in lines]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        wanted, asked = waiting.pop()
        if wanted.marker and not any(wanted.marker.evaluate({"extra": extra}) for extra in asked):
            continue
        name, extras = _plain(wanted.name), frozenset({"", *wanted.extras})
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        try:
            below = distribution(name).requires or []
        except PackageNotFoundError:
            continue  # an extra that this environment does without
        found.add(name)
        waiting += [(Requirement(line), extras) for line in below]
    return found


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
