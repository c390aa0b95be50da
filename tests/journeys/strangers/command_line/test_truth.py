"""Journeys that follow what the answers say, as a lazy agent and a hurried person do."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.journeys.strangers.command_line.tools_b import (
    confirmed,
    reference,
    session_ids,
    skill_of,
    started,
    stored,
)
from tests.journeys.strangers.product import Product


@pytest.mark.promise("disclosure.every-flag")
def test_the_reference_of_every_command_can_be_read_by_a_person(product: Product) -> None:
    paths = [command["path"] for command in reference(product)["commands"]]
    tried = [path for path in paths if path.split()[0] in ("run", "session", "workflow", "hook", "update")]

    failed = [path for path in tried if product.run("reference", "--command", path, "--human").status != 0]

    assert failed == []


@pytest.mark.promise("disclosure.every-flag")
@pytest.mark.parametrize(
    "line",
    [
        ("doctor", "--offline", "--checks", "store,git"),
        ("preferences", "set", "--preset", "full_auto", "--dry-run"),
        ("run", "start", "wr.small_change", "--dry-run"),
        ("setup", "--clients", "cursor", "--dry-run"),
    ],
)
def test_the_least_that_can_be_told_can_be_told_to_a_person(product: Product, line: tuple[str, ...]) -> None:
    ran = product.run(*line, "--human", "--mvi", "minimal")

    assert ran.status == 0, ran.err


@pytest.mark.promise("cli.batch-preview")
def test_a_preview_that_gives_a_token_names_its_targets_however_little_is_told(product: Product) -> None:
    ids = session_ids(product, 2)

    data = product.data(
        "session", "delete", "--ids", ",".join(ids), "--dangerous", "--dry-run", "--mvi", "minimal"
    )

    assert data["confirm_token"]
    assert data["preview"].get("targets") == ids


@pytest.mark.promise("truth.cheap-to-learn")
@pytest.mark.parametrize("path", ["run start", "run continue", "ledger show", "session list", "context"])
def test_the_compact_reference_of_one_command_costs_at_most_1200_tokens(product: Product, path: str) -> None:
    ran = product.run("reference", "--command", path, "--compact")

    assert len(ran.out) / 4 <= 1200


@pytest.mark.promise("truth.cheap-to-learn")
def test_a_slip_in_the_name_of_a_command_is_not_answered_with_the_whole_reference(product: Product) -> None:
    details = product.error("reference", "--command", "run contine")["details"]

    answer = product.run(*shlex.split(details["next_command"])[1:])

    assert answer.status == 0
    assert len(answer.out) / 4 <= 1500, details["next_command"]


@pytest.mark.promise("truth.cheap-to-learn")
def test_the_first_step_of_the_skill_costs_at_most_600_tokens(product: Product) -> None:
    page = (skill_of(product) / "SKILL.md").read_text(encoding="utf-8")
    block = page.split("## First step", 1)[1].split("```sh\n", 1)[1].split("```", 1)[0]

    cost = sum(len(product.run(*shlex.split(line)[1:]).out) for line in block.splitlines())

    assert cost / 4 <= 600


@pytest.mark.promise("truth.next-command")
def test_the_command_shown_to_a_person_is_refused_while_its_notes_are_not_filled_in(product: Product) -> None:
    shown = product.run("run", "start", "wr.small_change", "--goal", "x", "--request-id", "a", "--human").out
    (line,) = [line for line in shown.splitlines() if line.startswith("When done:")]

    ran = product.run(*shlex.split(line.split("handrail ", 1)[1]))

    assert ran.status == 2, "the step was taken with words that nobody wrote"


@pytest.mark.promise("truth.next-command")
def test_a_start_without_its_namespace_is_repaired_by_the_first_command_that_is_offered(
    product: Product,
) -> None:
    details = product.error("run", "start", "small_change")["details"]

    ran = product.run(*shlex.split(details["next_command"])[1:])

    assert ran.status == 0, details["next_command"]


@pytest.mark.promise("cli.doctor")
def test_every_fix_that_is_a_command_runs_as_it_is_printed(product: Product) -> None:
    skill_of(product)
    skill = next((product.project.parent / ".agents").rglob("SKILL.md"))
    skill.write_text(skill.read_text(encoding="utf-8") + "Changed by hand.\n", encoding="utf-8")
    checks = product.data("doctor", "--offline")["checks"]
    fixes = [check["fix"] for check in checks if (check["fix"] or "").startswith("handrail ")]

    failed = [fix for fix in fixes if "update" not in fix and product.run(*shlex.split(fix)[1:]).status != 0]

    assert fixes
    assert failed == []


@pytest.mark.promise("cli.contract-published")
def test_a_mistyped_id_does_not_make_a_sound_store_unsound(product: Product) -> None:
    (session,) = session_ids(product, 1)

    ran = product.run("store", "verify", "--ids", f"{session},ses_aaaaaaaaaaaa", "--human")

    assert "not sound" not in ran.out + ran.err


@pytest.mark.promise("cli.no-question")
def test_a_person_who_finds_no_session_is_told_what_was_searched(product: Product) -> None:
    started(product, "a", "something")

    ran = product.run("session", "list", "--query", "zzz", "--human")

    assert "Searched" in ran.out + ran.err


@pytest.mark.promise("disclosure.every-flag")
def test_a_person_who_asks_for_one_type_is_shown_its_fields(product: Product) -> None:
    ran = product.run("reference", "--schema", "session_list", "--human")

    assert "last_activity" in ran.out


@pytest.mark.promise("cli.contract-published")
def test_taking_one_project_out_leaves_the_skill_of_everybody_else(product: Product) -> None:
    skill = skill_of(product)
    scoped = ("setup", "--clients", "claude-code", "--scope", "project")
    confirmed(product, *scoped)

    confirmed(product, *scoped, "--remove")

    assert (Path(product.environment["HOME"]) / ".cursor" / "mcp.json").exists()
    assert (skill / "SKILL.md").exists()
    assert stored(product) == set()


@pytest.mark.promise("cli.contract-published")
def test_a_skill_that_is_gone_already_is_not_shown_as_to_be_deleted(product: Product) -> None:
    confirmed(product, "setup", "--clients", "zed")
    confirmed(product, "setup", "--clients", "zed", "--remove")

    preview = product.data("setup", "--clients", "zed", "--remove", "--dry-run")["preview"]

    assert [change["action"] for change in preview["changes"] if change["id"] == "skill"] in ([], ["none"])


@pytest.mark.promise("cli.contract-published")
def test_a_file_that_is_there_already_is_refused_with_a_code_that_export_declares(product: Product) -> None:
    (session,) = session_ids(product, 1)
    (product.project / "taken.json").write_text("mine", encoding="utf-8")

    error = product.error("session", "export", session, "--out", "taken.json")

    declared = product.data("reference", "--command", "session export")["commands"][0]["errors"]
    assert (product.project / "taken.json").read_text(encoding="utf-8") == "mine"
    assert error["code"] in declared or error["details"].get("domain_code") in declared
