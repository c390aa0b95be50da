"""The files at the root keep their size and their shape, because people and CI read them by it."""

from __future__ import annotations

import tomllib

import handrail
from tests.cases import every_case
from tests.house.markdown import fenced_blocks
from tests.house.tree import Source, check, check_planted, page, plant


def first_sh_block_problems(readme: Source) -> list[str]:
    """Line one shows the product, line two is the test command that CI reads from here."""
    blocks = [block for block in fenced_blocks(readme.text) if block.language == "sh"]
    if not blocks:
        return [f"{readme.path}:1: no sh block; start with the two commands"]
    lines = blocks[0].lines
    if len(lines) != 2:
        return [f"{readme.path}:1: the first sh block has {len(lines)} lines; it holds exactly two commands"]
    if "handrail demo" not in lines[0] or "pytest" not in lines[1]:
        return [f"{readme.path}:1: the first sh block is not demo then tests; put them in this order"]
    return []


def test_readme_starts_with_exactly_two_commands() -> None:
    check(first_sh_block_problems(page("README.md")))


def test_ci_takes_the_test_command_from_readme() -> None:
    """Written out a second time it would drift; so the word does not occur there at all."""
    assert "pytest" not in page(".ci/run").text


def test_the_map_in_agents_md_is_the_order_of_the_import_rules() -> None:
    contracts = tomllib.loads(page("pyproject.toml").text)["tool"]["importlinter"]["contracts"]
    (layers,) = [contract["layers"] for contract in contracts if contract.get("containers") == ["handrail"]]
    drawn = [block for block in fenced_blocks(page("AGENTS.md").text) if block.language == ""]

    rows = [line.partition("   ")[0].strip() for line in drawn[0].lines]

    assert rows == layers


def test_claude_md_only_includes_agents_md() -> None:
    assert page("CLAUDE.md").text == "@AGENTS.md\n"


def test_the_risk_tier_is_stated_in_security_md() -> None:
    assert "Risk tier: **T2**" in page("SECURITY.md").text


def test_the_licence_is_mit() -> None:
    text = page("LICENSE").text

    assert text.startswith("MIT License\n")
    assert "Copyright (c) 2026 The Handrail maintainers" in text


def test_package_and_metadata_agree_on_the_version() -> None:
    metadata = tomllib.loads(page("pyproject.toml").text)

    assert metadata["project"]["version"] == handrail.__version__


@every_case(
    ("text", "expected"),
    [
        ("```sh\nuv run handrail demo\nuv run pytest\n```\n", ""),
        ("```json\n{}\n```\n```sh\nuv run handrail demo\nuv run pytest\n```\n", ""),
        ("```sh\nuv run pytest\nuv run handrail demo\n```\n", "demo then tests"),
        ("```sh\nuv run handrail demo\n```\n", "has 1 lines"),
        ("No block.\n", "no sh block"),
    ],
)
def test_a_wrong_first_block_is_reported(text: str, expected: str) -> None:
    check_planted(lambda sources: first_sh_block_problems(sources[0]), plant("README.md", text), expected)
