"""What `reference` declares is what answers hold: keys of pages, words of strangers, codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime
from tests.journeys.given_workflows import give, step
from tests.journeys.interfaces import command
from tests.operations.asked import answered
from tests.surfaces.cli.here import run_here

MARKER = "IGNORE-ALL-RULES"


def started(runtime: Runtime) -> dict[str, Any]:
    line = ("run", "start", give(runtime, step("one"), step("two")), "--goal", MARKER, "--request-id", "one")
    run: dict[str, Any] = command(runtime, *line)[1]["data"]
    command(runtime, "run", "continue", "--ack", run["ackToken"], "--notes", "Done as planned.")
    return run


def declared(runtime: Runtime, label: str) -> dict[str, Any]:
    schema: dict[str, Any] = command(runtime, "reference", "--schema", label)[1]["data"]["schemas"][label]
    return schema


def test_page_of_the_ledger_holds_declared_keys_only(
    runtime: Runtime,
) -> None:
    run_id = started(runtime)["session"]["runId"]
    schema = declared(runtime, "ledger_document")

    first = command(runtime, "ledger", "show", run_id, "--limit", "1")[1]["data"]
    last = command(runtime, "ledger", "show", run_id, "--limit", "1", "--offset", "1")[1]["data"]

    assert (first["has_more"], first["next_offset"]) == (True, 1)
    assert (last["has_more"], "next_offset" in last) == (False, False)
    assert set(first) - {"_untrusted"} <= set(schema["fields"])
    assert {"offset", "next_offset", "has_more"} <= set(schema["json_schema"]["properties"])


def test_a_list_offers_no_name_that_it_never_has(runtime: Runtime) -> None:
    started(runtime)

    _, refused = command(runtime, "session", "list", "--fields", "offset,nope")

    assert refused["error"]["details"]["domain_code"] == "FIELD_UNKNOWN"
    assert not {"offset", "next_offset"} & set(refused["error"]["details"]["valid"])


@pytest.mark.parametrize("mode", [(), ("--mode", "delta", "--since-version", "0"), ("--view", "state")])
@pytest.mark.thorough
def test_words_of_a_stranger_in_a_ledger_are_named_beside_it(runtime: Runtime, mode: tuple[str, ...]) -> None:
    run_id = started(runtime)["session"]["runId"]

    data = command(runtime, "ledger", "show", run_id, *mode)[1]["data"]

    place = "objective" if "--view" in mode else "entries.contextDelta"
    assert MARKER in json.dumps(data)
    assert place in data["_untrusted"]
    assert place in declared(runtime, "ledger_document")["untrusted_fields"]


def test_ledger_stays_closed_in_the_lafs_dialect(runtime: Runtime, tmp_path: Path) -> None:
    run_id = started(runtime)["session"]["runId"]

    _, envelope = command(runtime, "ledger", "show", run_id, "--envelope", "lafs")
    (tmp_path / "answer.json").write_text(json.dumps(envelope), encoding="utf-8")
    status, _ = command(runtime, "lafs", "check", str(tmp_path / "answer.json"), "--tier", "complete")

    assert "_untrusted" not in envelope["result"]
    assert "entries.contextDelta" in envelope["_extensions"]["x-untrusted"]
    assert status == 0


def test_existing_file_is_refused_with_a_declared_code(runtime: Runtime, tmp_path: Path) -> None:
    session = started(runtime)["session"]["sessionId"]
    line = ("session", "export", session, "--out", str(tmp_path / "taken.json"))

    command(runtime, *line)
    _, refused = command(runtime, *line)
    _, told = command(runtime, "reference", "--command", "session export")

    assert refused["error"]["code"] == "E_CONFLICT"
    assert refused["error"]["code"] in told["data"]["commands"][0]["errors"]


def test_every_command_declares_the_code_of_an_unknown_flag(runtime: Runtime) -> None:
    paths = {
        one["path"]: one for one in command(runtime, "reference", "--mvi", "full")[1]["data"]["commands"]
    }

    for path, told in paths.items():
        if path == "hook":  # its host stops on a refusal, so it passes over what it does not know
            assert "never fails" in told["description"]
            continue
        status, refused = command(runtime, *path.split(), "--frobnicate")
        assert (status, refused["error"]["code"]) == (2, "E_USAGE"), path
        assert "E_USAGE" in told["errors"], path


def test_linked_session_is_unreadable_and_doctor_fails(
    tmp_path: Path,
) -> None:
    rt = build_runtime({"HOME": str(tmp_path)}, home=str(tmp_path / "home"))
    good, moved = (
        answered(rt, "run.start", workflowId="wr.small_change", requestId=key)["session"]["sessionId"]
        for key in ("a", "b")
    )
    place = tmp_path / "home/data/sessions" / moved
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")

    listed = {item["id"]: item for item in answered(rt, "session.list")["items"]}
    (check,) = answered(rt, "self.doctor", checks=["store"], offline=True)["checks"]
    begun = answered(rt, "run.start", workflowId="wr.small_change", requestId="c")

    assert listed[good]["health"] == "healthy"
    assert (listed[moved]["status"], check["status"]) == ("unreadable", "fail")
    assert begun["session"]["sessionId"] not in (good, moved), "work goes on beside it"


def test_person_reads_what_was_searched_and_its_fields(runtime: Runtime) -> None:
    listed = run_here(runtime, ["session", "list", "--query", "zzz", "--human"]).out.decode()
    resumed = run_here(runtime, ["session", "resume", "zzz", "--human"]).out.decode()
    fields = run_here(runtime, ["reference", "--schema", "session_list", "--human"]).out.decode()

    assert "Searched: all sessions of this store." in listed
    assert "instead" not in resumed, "there is nothing to show instead"
    assert "items.last_activity" in fields
