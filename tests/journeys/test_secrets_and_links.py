"""Secrets where nobody looks for them, and links that lead out: neither is told, neither is followed."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime
from tests.conftest import THREE_STEPS
from tests.journeys.interfaces import tool_call
from tests.surfaces.cli.here import run_troubled

PASSWORD = "pw-99cc"
"""Too short to be looked for by value: in a text it could be anything."""
LOGIN = f"me:{PASSWORD}@"
SOURCES = (f"https://{LOGIN}example.org/flows.git", f"https://{LOGIN}example.org", f"ssh://{LOGIN}h/x/")
LEADS_OUT = r'"(.*)" is a link that leads out of the (project|directory), so it is not read\.'
SECRET = b'{"id":"project.secret","title":"the content of another file"}'


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir(mode=0o700)
    (tmp_path / "project").mkdir()
    settings: dict[str, Any] = {
        "auditReads": True,
        "startSession": True,
        "update": {"index": f"http://{LOGIN}127.0.0.1:9/simple"},
        "workflowSources": [{"kind": "git", "url": url, "ref": "a" * 40} for url in SOURCES],
    }
    (tmp_path / "home" / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    return tmp_path


@pytest.fixture
def rt(place: Path) -> Runtime:
    proxy = f"http://{LOGIN}127.0.0.1:9"
    environment = {
        "HANDRAIL_PROJECT": str(place / "project"),
        "PATH": os.environ.get("PATH", os.defpath),
        **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"), proxy),
        "UV_INDEX_URL": f"http://{LOGIN}127.0.0.1:9/simple",
        "PIP_INDEX_URL": f"http://{LOGIN}127.0.0.1:9/simple",
    }
    return build_runtime(environment, home=str(place / "home"))


def command(rt: Runtime, *arguments: str) -> dict[str, Any]:
    """The document that the command line prints."""
    document: dict[str, Any] = json.loads(run_troubled(rt, arguments).out)
    assert document["ok"] or document["error"]["code"] != "E_UNKNOWN"
    return document


def kept(place: Path, *folders: str) -> str:
    """Everything that was written to these folders of the home."""
    found = [path for folder in folders for path in sorted((place / "home" / folder).rglob("*"))]
    return "".join(path.read_text(encoding="utf-8") for path in found if path.is_file())


def test_login_of_a_source_index_or_proxy_is_never_shown(place: Path, rt: Runtime) -> None:
    listed = tool_call(rt, "list_workflows", source="git")
    printed = command(rt, "workflow", "list", "--source", "git", "--mvi", "full")
    judged = command(rt, "doctor", "--checks", "workflow_library,settings,update")
    checked = command(rt, "update", "--check")

    told = [listed.text, msgspec.json.encode(listed.structured).decode()]
    told += [json.dumps(document) for document in (printed, judged, checked)]
    assert [text for text in told if PASSWORD in text] == []
    assert "flows.git@aaaaaaaaaaaa" in told[2]
    assert "with your login in place of [redacted]: git clone --bare -- 'https://[redacted]@" in told[2]
    assert PASSWORD not in kept(place, "audit", "incidents", "cache", "data")


@pytest.mark.parametrize(
    ("operation", "params"),
    [
        ("workflow.inspect", {"workflowId": "TOKEN"}),
        ("workflow.list", {"query": "TOKEN", "project": "TOKEN"}),
        ("run.start", {"workflowId": "TOKEN", "requestId": "TOKEN"}),
        ("run.start", {"workflowId": "wr.small_change", "requestId": "TOKEN", "goal": "TOKEN"}),
        ("run.close", {"stateToken": "TOKEN", "reason": "TOKEN"}),
        ("session.show", {"sessionId": "TOKEN"}),
        ("session.resume", {"session": "TOKEN", "query": "TOKEN"}),
        ("session.delete", {"ids": ["TOKEN", "see TOKEN."], "dryRun": True}),
        ("workflow.new", {"workflowId": "TOKEN", "to": "/tmp/TOKEN", "dryRun": True}),
        ("session.start", {"TOKEN": {"TOKEN": "TOKEN"}}),
    ],
)
def test_a_token_in_any_field_does_not_reach_the_audit(
    place: Path, rt: Runtime, operation: str, params: dict[str, Any]
) -> None:
    start = tool_call(rt, "start_workflow", workflowId="wr.small_change").structured
    assert start is not None
    token = start["ackToken"]

    perform(rt, operation, json.loads(json.dumps(params).replace("TOKEN", token)))

    audit = kept(place, "audit")
    assert f'"command":"{operation}"' in audit
    assert token not in audit


def test_a_refusal_does_not_tell_a_token_back_under_another_name(rt: Runtime) -> None:
    start = tool_call(rt, "start_workflow", workflowId="wr.small_change").structured
    assert start is not None

    told = tool_call(rt, "inspect_workflow", workflowId=start["ackToken"])
    printed = command(rt, "session", "show", start["ackToken"])

    assert start["ackToken"] not in told.text + json.dumps(told.structured)
    assert start["ackToken"] not in json.dumps(printed["error"]["details"]) + printed["error"]["message"]


def test_a_traceback_keeps_no_login_and_no_token(
    place: Path, rt: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = tool_call(rt, "start_workflow", workflowId="wr.small_change").structured
    assert start is not None

    def broken(*_: object) -> None:
        raise RuntimeError(f"{SOURCES[0]}?access_token=abcdef {start['ackToken']}")

    monkeypatch.setattr("handrail.event_log.files.log.FileLog.load", broken)
    perform(rt, "session.show", {"sessionId": "ses_000000000000"})

    text = kept(place, "incidents")
    assert "https://[redacted]@example.org/flows.git?access_token=[redacted] ak1…" in text
    assert PASSWORD not in text


def led_out(rt: Runtime) -> list[str]:
    """The links that are told to lead out; no door tells what lies behind them."""
    listed = tool_call(rt, "list_workflows")
    printed = command(rt, "workflow", "list", "--mvi", "full", "--limit", "500")
    assert "another file" not in listed.text + json.dumps(listed.structured) + json.dumps(printed)
    messages = [
        problem["message"] for item in printed["data"]["items"] for problem in item.get("problems", ())
    ]
    return [found[1] for found in (re.match(LEADS_OUT, message) for message in messages) if found]


@pytest.mark.parametrize(
    ("link", "named"),
    [
        ("project/.handrail", ".handrail"),
        ("project/.handrail/workflows", ".handrail/workflows"),
        ("project/.handrail/contracts", ".handrail/contracts"),
        ("project/.handrail/workflows/x.json", "x.json"),
        ("project/.handrail/workflows/deeper/x.json", "deeper/x.json"),
        ("project/.handrail/contracts/x.json", "x.json"),
        ("project/flows/x.json", "flows/x.json"),
        ("home/workflows/x.json", "x.json"),
    ],
)
def test_a_link_that_leads_out_is_one_problem_and_is_not_read(
    place: Path, rt: Runtime, link: str, named: str
) -> None:
    outside = place / "outside"
    for folder in ("workflows", "contracts"):
        (outside / folder).mkdir(parents=True)
        (outside / folder / "x.json").write_bytes(SECRET)
    (outside / "x.json").write_bytes(SECRET)
    (place / link).parent.mkdir(parents=True, exist_ok=True)
    if link.startswith("project/flows"):
        (place / "project" / ".handrail").mkdir()
        (place / "project" / ".handrail" / "config.json").write_text(
            '{"workflowDirectories":["flows"]}', encoding="utf-8"
        )
    (place / link).symlink_to(outside if named == ".handrail" else outside / "/".join(link.split("/")[-1:]))

    assert led_out(rt) == [named]
    assert_validate_tells_it_too(rt, place, link)


def assert_validate_tells_it_too(rt: Runtime, place: Path, link: str) -> None:
    """The link, the directory that it is in, and a file behind it, named on a command line."""
    is_file = link.endswith(".json")
    named = [place / link, *([(place / link).parent] if is_file else ())]
    reports = [command(rt, "workflow", "validate", str(one), "--report-only") for one in named]
    drawn = command(rt, "workflow", "graph", str(place / link if is_file else place / link / "x.json"))

    assert "another file" not in json.dumps([reports, drawn])
    assert drawn["error"]["details"]["domain_code"] == "WORKFLOW_INVALID"
    problems = [item["problems"] for report in reports for item in report["data"]["items"]]
    assert len(problems) == len(reports)
    assert {problem["code"] for found in problems for problem in found} == {"bad_source"}


def test_a_link_within_the_project_is_followed(place: Path, rt: Runtime) -> None:
    own = place / "project" / ".handrail" / "workflows"
    own.mkdir(parents=True)
    (place / "project" / "kept.json").write_bytes(THREE_STEPS)
    (own / "three_steps.json").symlink_to("../../kept.json")

    assert led_out(rt) == []
    assert tool_call(rt, "inspect_workflow", workflowId="project.three_steps").structured is not None


def test_settings_behind_an_outward_link_are_not_read(place: Path, rt: Runtime) -> None:
    (place / "outside.json").write_text('{"output":{"compact":"another file"}}', encoding="utf-8")
    (place / "project" / ".handrail").mkdir()
    (place / "project" / ".handrail" / "config.json").symlink_to(place / "outside.json")

    judged = command(rt, "doctor", "--checks", "settings")

    assert "leads out of the project" in json.dumps(judged)
    assert led_out(rt) == [".handrail/config.json"]


def test_a_key_that_an_agent_writes_down_is_not_stored(rt: Runtime, place: Path) -> None:
    (place / "project" / ".handrail" / "workflows").mkdir(parents=True)
    (place / "project" / ".handrail" / "workflows" / "three.json").write_bytes(THREE_STEPS)
    first = tool_call(rt, "start_workflow", workflowId="project.three_steps").structured
    secret = json.loads((place / "home" / "data" / "keys" / "keyring.json").read_bytes())["current"]
    artifact = {"kind": "acme.note", "text": f"It is {secret}."}

    output = {"notesMarkdown": f"The key is {secret}.", "artifacts": [artifact]}
    tool_call(rt, "continue_workflow", ackToken=first["ackToken"], output=output, context={"found": secret})

    kept = b"".join(path.read_bytes() for path in (place / "home" / "data").rglob("*.jsonl"))
    assert secret.encode() not in kept
    assert kept.count(b"[redacted]") >= 3
