"""What telemetry is told of a call, and when there is any; the referees have it with its library."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import msgspec
import pytest

from handrail.ports.process import CallNote
from handrail.runtime.runtime import NO_OBSERVER, Runtime
from handrail_serve.command import build_observer
from tests.journeys.given_workflows import WITH_DECISION, begin, step
from tests.surfaces.http.client import ask, make_app

MODULE = "handrail_serve.host.telemetry"
ASKED = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}


class KeptNotes:
    """`ports.Observer` in place of an exporter."""

    def __init__(self) -> None:
        self.calls: list[CallNote] = []
        self.feeds = 0

    def note_call(self, call: CallNote) -> None:
        self.calls.append(call)

    def note_feeds(self, change: int) -> None:
        self.feeds += change

    def close(self) -> None:
        return


class Broken(KeptNotes):
    def note_call(self, call: CallNote) -> None:
        raise RuntimeError("the collector is gone")


def test_each_call_is_counted_by_name_and_end_only(runtime: Runtime) -> None:
    deciding = begin(runtime, step("decide", **WITH_DECISION), step("do"), fields={})
    notes = KeptNotes()
    app = make_app(msgspec.structs.replace(runtime, observer=notes))
    goal = {"workflowId": "project.three_steps", "goal": "A secret title", "requestId": "one"}
    reported = {"ackToken": deciding["ackToken"], "output": {"notesMarkdown": "Private words."}}

    ask(app, "POST", "/api/run.start", body=goal)
    ask(app, "POST", "/api/run.continue", body=reported)
    ask(app, "GET", "/api/session.list?limit=0")

    assert [(call.operation, call.outcome, call.is_failure) for call in notes.calls] == [
        ("run.start", "ok", False),
        ("run.continue", "blocked", False),
        ("session.list", "VALIDATION_ERROR", True),
    ]
    assert set(CallNote.__struct_fields__) == {"operation", "outcome", "is_failure", "duration_ms"}


def test_telemetry_that_fails_costs_no_call_its_answer(runtime: Runtime) -> None:
    app = make_app(msgspec.structs.replace(runtime, observer=Broken()))

    assert ask(app, "GET", "/api/session.list").status == 200


@pytest.mark.parametrize(
    ("environment", "is_on"),
    [
        ({}, False),
        ({"OTEL_SERVICE_NAME": "x"}, False),
        ({"OTEL_TRACES_EXPORTER": "none"}, False),
        ({**ASKED, "OTEL_SDK_DISABLED": "true"}, False),
        (ASKED, True),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://127.0.0.1:4318/v1/metrics"}, True),
    ],
)
def test_telemetry_is_off_unless_standard_variables_ask(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], is_on: bool
) -> None:
    made = KeptNotes()
    told: list[str] = []

    monkeypatch.setitem(sys.modules, MODULE, None)  # as if it could not be imported
    without = build_observer(environment, told.append)
    monkeypatch.setitem(sys.modules, MODULE, SimpleNamespace(export_telemetry=lambda _: made))
    beside = build_observer(environment, told.append)

    assert without is NO_OBSERVER
    assert (beside is made) == is_on
    assert len(told) == is_on
    assert all("handrail[otel]" in line for line in told)
