"""The library for tool authors: every public name is there, in any import order, and costs nothing unused."""

from __future__ import annotations

import subprocess
import sys

import pytest

import handrail.contract
from tests.cases import every_case

# The stable names of the response contract, section 8, and the values they take and give.
STABLE = {
    "KINDS",
    "Call",
    "Failure",
    "FlagInput",
    "NextCall",
    "NotConformant",
    "Notice",
    "Outcome",
    "Page",
    "Report",
    "Success",
    "assert_conformant",
    "check",
    "check_flags",
    "disclose",
    "estimate_tokens",
    "expand_minimal",
    "fold_ledger",
    "to_cli",
    "to_lafs",
    "to_mcp_error",
    "to_problem",
}
NEVER_LOADED = {"jsonschema", "regex", "pydantic", "mcp", "starlette", "dataclasses", "pathlib", "logging"}


def run(program: str) -> str:
    """What a fresh interpreter prints; the import state of this one says nothing."""
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, encoding="utf-8", timeout=60, check=True
    )
    return answer.stdout.strip()


def test_the_public_names_are_the_stable_ones() -> None:
    assert set(handrail.contract.__all__) == STABLE


@every_case("name", sorted(STABLE))
def test_every_public_name_can_be_had(name: str) -> None:
    assert getattr(handrail.contract, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = handrail.contract.nonsense


def test_importing_the_library_loads_none_of_its_files() -> None:
    loaded = run(
        "import sys, handrail.contract; print([m for m in sys.modules if 'handrail.contract.' in m])"
    )

    assert loaded == "[]"


@pytest.mark.thorough
def test_using_the_renderers_loads_nothing_heavy() -> None:
    program = "from handrail.contract import *; import sys; print(' '.join(sys.modules))"
    baseline = set(run("import msgspec, sys; print(' '.join(sys.modules))").split())

    loaded = set(run(program).split()) - baseline

    assert not loaded & NEVER_LOADED


def test_files_of_the_package_can_still_be_imported_by_name() -> None:
    assert run("from handrail.contract import catalogue; print(catalogue.__name__)") == (
        "handrail.contract.catalogue"
    )
