"""What an operation is given: the ports that its function names, and no more."""

from __future__ import annotations

from typing import Any

from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Failure
from handrail.runtime.hub import perform_operation
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import ReadPorts, Runtime, WritePorts
from handrail.wiring import registry

GIVEN_MORE = {
    "code.scan": "WritePorts",  # its tokens are the ones that an edit spends
    "receipt.export": "Runtime",  # keys for receipts
    "receipt.verify": "Runtime",
    "self.context": "Runtime",  # how the program is installed
    "self.doctor": "Runtime",
    "self.settings": "Runtime",
    "store.du": "Runtime",  # the keeper of the store
    "store.selftest": "Runtime",
    "store.verify": "Runtime",
    "team.audit": "Runtime",  # accounts
    "team.members": "Runtime",
    "team.tokens": "Runtime",
    "team.whoami": "Runtime",
    "team.workspaces": "Runtime",
}
"""Operations that only read and are given more than what reads sessions, workflows and files; why."""


class _Nothing(Input, frozen=True, kw_only=True):
    pass


def _named(perform: Any) -> str:
    named = next(iter(perform.__annotations__.values()))
    return str(getattr(named, "__name__", named))


def test_what_only_reads_is_given_nothing_that_writes() -> None:
    given = {
        one.name: {_named(way) for way in (one.perform, one.stream, one.chunked) if way is not None}
        for one in registry().operations()
        if one.effect == "read"
    }

    assert {name: ports for name, ports in given.items() if ports != {"ReadPorts"}} == {
        name: {ports} for name, ports in GIVEN_MORE.items()
    }


def test_every_operation_names_what_it_takes() -> None:
    ways = [
        (one.name, _named(way))
        for one in registry().operations()
        for way in (one.perform, one.stream, one.chunked, one.foresee)
        if way is not None
    ]

    assert [row for row in ways if row[1] not in ("ReadPorts", "WritePorts", "Runtime")] == []


def test_the_hub_hands_out_the_named_ports_alone(runtime: Runtime) -> None:
    seen: list[object] = []

    def read(rt: ReadPorts, _: _Nothing) -> _Nothing:
        seen.append(rt)
        return _Nothing()

    def write(rt: WritePorts, _: _Nothing) -> _Nothing:
        seen.append(rt)
        return _Nothing()

    def manage(rt: Runtime, _: _Nothing) -> _Nothing:
        seen.append(rt)
        return _Nothing()

    for perform in (read, write, manage):
        perform_operation(runtime, _operation(perform), {})

    assert [type(one) for one in seen] == [ReadPorts, WritePorts, Runtime]
    assert not hasattr(seen[0], "commits")
    assert not hasattr(seen[1], "keeper")


def test_an_operation_that_reaches_past_its_ports_is_a_defect(runtime: Runtime) -> None:
    def read(rt: ReadPorts, _: _Nothing) -> _Nothing:
        past: Any = rt
        past.commits.mark()
        return _Nothing()

    outcome = perform_operation(runtime, _operation(read), {})

    assert isinstance(outcome, Failure)
    assert outcome.kind.code == "INTERNAL_ERROR"


def test_an_annotation_that_names_no_ports_gets_none(runtime: Runtime) -> None:
    seen: list[object] = []

    def read(rt: object, _: _Nothing) -> _Nothing:
        seen.append(rt)
        return _Nothing()

    outcome = perform_operation(runtime, _operation(read), {})

    assert isinstance(outcome, Failure)
    assert outcome.kind.code == "INTERNAL_ERROR"
    assert seen == []


def _operation(perform: Any) -> Operation:
    return Operation(
        name="house.try",
        effect="read",
        summary="Tries.",
        input=_Nothing,
        output=_Nothing,
        perform=perform,
        shape=Shape(levels={}),
    )
