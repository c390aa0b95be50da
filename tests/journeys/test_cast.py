"""Nobody gets away with a lie: an honest agent and twelve liars in every bundled workflow and mode."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.journeys.cast import LIES, LISTS, NEVER_STOPS, play, play_all, read_cells, sum_up
from tests.quick_set import all_but_thorough
from tests.surfaces.mcp.scripted_agents import IDS, MODES

CELLS = read_cells()
PAIRS = [(workflow_id, place, turn) for place, workflow_id in enumerate(IDS) for turn in range(len(MODES))]
EACH = all_but_thorough(
    [(workflow_id, MODES[(place + turn) % len(MODES)]) for workflow_id, place, turn in PAIRS],
    step=len(MODES),
)
"""Every workflow in every mode; the quick set has each workflow in one of them."""
NAMING_COMMANDS = (
    *LISTS,
    "wr.verification_report",
    "wr.review_findings",
    "wr.handoff",
    "wr.reproduction",
)
REPAIRED = {
    "wr.bug_investigation": "wr.bug_fix",
    "wr.code_review": "wr.review_findings",
    "wr.data_migration": "wr.changed_files",
    "wr.dependency_upgrade": "wr.changed_files",
    "wr.discovery": "wr.decision",
    "wr.documentation_update": "wr.changed_files",
    "wr.feature_delivery": "wr.changed_files",
    "wr.incident_postmortem": "",
    "wr.performance": "wr.changed_files",
    "wr.red_ci": "wr.bug_fix",
    "wr.refactor": "wr.changed_files",
    "wr.release_readiness": "",
    "wr.research": "",
    "wr.review_feedback": "wr.changed_files",
    "wr.security_review": "wr.changed_files",
    "wr.small_change": "wr.changed_files",
    "wr.specification": "wr.changed_files",
    "wr.test_generation": "wr.changed_files",
    "wr.ui_change": "wr.changed_files",
    "wr.workflow_authoring": "wr.changed_files",
}
"""By workflow: what is asked for between a last verification that does not pass and the next one.

Onboarding and an architecture audit look again and report anew; nothing stands between. The verdict of a
routine is its result, and what a failed look before a commit means is the user's decision.
"""


@pytest.mark.thorough
@pytest.mark.promise("evidence.cast")
@pytest.mark.parametrize(("workflow_id", "mode"), EACH)
def test_every_lie_is_refused_or_disclosed(tmp_path: Path, workflow_id: str, mode: str) -> None:
    runs = play_all(tmp_path, workflow_id, mode)

    cells = sum_up(runs)
    assert "missed" not in cells.values()
    assert cells == CELLS[workflow_id][mode], "record it: python -m tests.journeys.cast"
    for run in runs:
        passed_by = {name for name, _, outcome in run.told if outcome == "disclosed"}
        seen = run.end.get("evidence") or {}
        doubted = sum(seen.get(name, 0) for name in ("contradicted", "stale", "claimed"))
        assert doubted > 0 or not passed_by - {"empty notes"}
        told = ("gap", "only the agent's word: ")
        assert any(word in run.end["closing"] for word in told) or not passed_by or mode != NEVER_STOPS


@pytest.mark.thorough
@pytest.mark.promise("evidence.cast")
@pytest.mark.parametrize(("workflow_id", "mode"), EACH)
def test_the_honest_agent_is_never_refused(tmp_path: Path, workflow_id: str, mode: str) -> None:
    run = play(tmp_path, workflow_id, mode)

    assert run.blocks == 0
    assert (run.end["isComplete"], run.end["evidence"]["contradicted"], run.end["evidence"]["stale"]) == (
        True,
        0,
        0,
    )


@pytest.mark.thorough
@pytest.mark.promise("evidence.cast")
@pytest.mark.parametrize("workflow_id", IDS)
def test_who_never_runs_anything_ends_with_only_its_word(tmp_path: Path, workflow_id: str) -> None:
    run = play(tmp_path, workflow_id, "guided", runs_programs=False)

    names_any = any(kind in NAMING_COMMANDS for kind in run.kinds)
    assert (run.end["evidence"]["claimed"] > 0, run.end["evidence"]["ran"]) == (names_any, 0)


@pytest.mark.promise("evidence.cast")
def test_who_leaves_a_file_out_again_goes_on_with_a_gap(tmp_path: Path) -> None:
    (omitting,) = [lie for lie in LIES if lie.name == "omitted file"]
    again = msgspec.structs.replace(omitting, name="omitted again")

    run = play(tmp_path, "wr.small_change", "guided", omitting, again)

    assert [outcome for _, _, outcome in run.told] == ["refused", "disclosed"]
    assert run.end["evidence"]["contradicted"] == 1
    assert "The report leaves out what changed: src/notes.txt" in run.end["closing"]


@pytest.mark.thorough
@pytest.mark.promise("evidence.unproven-end")
@pytest.mark.parametrize("mode", ["full_auto_stop_on_user_deps", NEVER_STOPS])
@pytest.mark.parametrize("verdict", ["failed", "incomplete"])
@pytest.mark.parametrize("workflow_id", IDS)
def test_a_verification_that_never_passes_is_repaired_and_never_ends_in_silence(
    tmp_path: Path, workflow_id: str, verdict: str, mode: str
) -> None:
    run = play(tmp_path, workflow_id, mode, verdict=verdict)

    if "wr.verification_report" not in run.kinds:
        assert workflow_id == "wr.code_review", "only a quick review, the cheap way, has no verification"
        return
    assert f"its last verification report says {verdict}" in str(run.end)
    assert run.blocks == 0
    if workflow_id in REPAIRED:
        kinds = [kind for kind in run.kinds if kind != "wr.gap"]
        last = max(at for at, kind in enumerate(kinds) if kind == "wr.verification_report")
        rounds = ["wr.verification_report", REPAIRED[workflow_id], "wr.verification_report"]
        assert kinds[last - 2 : last + 1] == rounds


def test_the_table_has_every_workflow_mode_and_lie() -> None:
    assert list(CELLS) == IDS
    assert all(list(held) == MODES for held in CELLS.values())
    names = [lie.name for lie in LIES]
    assert all(list(cells) == names for held in CELLS.values() for cells in held.values())
