"""Many targets, one answer: order, doubles, failures, and an end in the middle."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Literal

import msgspec
import pytest

from handrail.contract.catalogue import E_NOT_FOUND, SESSION_LOCKED
from handrail.contract.outcome import Fault
from handrail.runtime.batch import MOST_TARGETS, BatchResult, run_batch, targets_of
from handrail.runtime.runtime import Runtime


class Asked:
    """Interruptions that a test times by the number of targets done."""

    def __init__(self, why: Literal["signal", "deadline"], after: int) -> None:
        self._why = why
        self._left = after
        self.is_deferred = False

    def defer(self) -> AbstractContextManager[None]:
        @contextmanager
        def scope() -> Iterator[None]:
            self.is_deferred = True
            yield
            self.is_deferred = False

        return scope()

    def pause(self, milliseconds: int) -> None:
        raise AssertionError(f"a batch does not wait {milliseconds} ms")

    def stop_reason(self) -> Literal["", "signal", "deadline"]:
        assert self.is_deferred
        self._left -= 1
        return "" if self._left >= 0 else self._why


def ran(
    rt: Runtime, targets: str, failing: str = "", *, goes_on: bool = True
) -> tuple[BatchResult, list[str]]:
    """One letter per target; those in `failing` fail."""
    done: list[str] = []

    def act(target: str) -> None:
        if target in failing:
            raise Fault(SESSION_LOCKED if target.isupper() else E_NOT_FOUND, f"{target} cannot be done.")
        done.append(target)

    result = run_batch(rt, tuple(targets), act, what="letters", continue_on_error=goes_on)
    return result, done


@pytest.mark.promise("cli.batch-tally")
@pytest.mark.parametrize(
    ("targets", "failing", "goes_on", "done", "tally"),
    [
        ("abc", "", True, "abc", (3, 3, 0, 0)),
        ("cab", "a", True, "cb", (3, 2, 1, 0)),
        ("abc", "a", False, "", (1, 0, 1, 2)),
        ("abc", "b", False, "a", (2, 1, 1, 1)),
        ("abc", "c", False, "ab", (3, 2, 1, 0)),
        ("a", "a", True, "", (1, 0, 1, 0)),
    ],
)
def test_the_tally_adds_up_and_the_order_is_kept(
    runtime: Runtime, targets: str, failing: str, goes_on: bool, done: str, tally: tuple[int, int, int, int]
) -> None:
    result, acted = ran(runtime, targets, failing, goes_on=goes_on)

    summary = result.summary
    assert "".join(acted) == done
    assert (summary.total, summary.succeeded, summary.failed, summary.skipped) == tally
    assert "".join([item.target for item in result.items] + result.skipped) == targets


@pytest.mark.promise("cli.batch-items")
def test_a_failed_item_says_why_and_whether_to_try_again(runtime: Runtime) -> None:
    result, _ = ran(runtime, "aB", "aB")

    first, second = msgspec.to_builtins(result)["items"]
    assert first == {
        "target": "a",
        "ok": False,
        "error": {"code": "E_NOT_FOUND", "retryable": False, "message": "a cannot be done."},
    }
    assert (second["error"]["code"], second["error"]["retryable"]) == ("E_TIMEOUT", True)
    assert second["error"]["domain_code"] == "SESSION_LOCKED"


@pytest.mark.parametrize("trouble", [OSError("full"), MemoryError(), RecursionError()])
def test_lack_of_one_target_keeps_the_other_results(runtime: Runtime, trouble: Exception) -> None:
    def act(target: str) -> None:
        if target == "b":
            raise trouble

    result = run_batch(runtime, ("a", "b", "c"), act, what="letters", continue_on_error=True)

    assert [item.ok for item in result.items] == [True, False, True]
    assert type(trouble).__name__ in str(result.items[1].error)


def test_an_item_that_went_well_has_no_error_key(runtime: Runtime) -> None:
    result, _ = ran(runtime, "a")

    assert msgspec.to_builtins(result)["items"] == [{"target": "a", "ok": True}]


@pytest.mark.parametrize(
    ("why", "code", "told"),
    [
        ("signal", "E_INTERRUPTED", "A signal ended the call after 2 of 4 targets"),
        ("deadline", "E_TIMEOUT", "The deadline passed after 2 of 4 targets"),
    ],
)
def test_an_end_between_two_targets_tells_both_lists(
    runtime: Runtime, why: Literal["signal", "deadline"], code: str, told: str
) -> None:
    interrupted = msgspec.structs.replace(runtime, interruptions=Asked(why, after=2))

    with pytest.raises(Fault) as raised:
        ran(interrupted, "abcd", "b")

    details = raised.value.details
    assert raised.value.kind.code == code
    assert raised.value.message.startswith(told)
    assert [(item["target"], item["ok"]) for item in details["items"]] == [("a", True), ("b", False)]
    assert (details["skipped"], details["committed"]) == (["c", "d"], True)
    assert details["summary"] == {"total": 2, "succeeded": 1, "failed": 1, "skipped": 2}


def test_an_end_before_the_first_target_committed_nothing(runtime: Runtime) -> None:
    interrupted = msgspec.structs.replace(runtime, interruptions=Asked("signal", after=0))

    with pytest.raises(Fault) as raised:
        ran(interrupted, "ab")

    assert raised.value.details["committed"] is False


def test_signal_during_the_last_target_changes_no_answer(runtime: Runtime) -> None:
    result, _ = ran(msgspec.structs.replace(runtime, interruptions=Asked("signal", after=2)), "ab")

    assert result.summary.succeeded == 2


@pytest.mark.promise("cli.batch-inputs")
def test_doubles_go_and_the_order_stays() -> None:
    assert targets_of(["b", "a", "b", "c", "a"], "ids") == ("b", "a", "c")


def test_as_many_targets_as_one_call_may_take_are_taken() -> None:
    assert len(targets_of([str(number) for number in range(MOST_TARGETS)], "ids")) == MOST_TARGETS


def test_each_target_is_told_as_progress(runtime: Runtime) -> None:
    told: list[tuple[int, int, str]] = []

    class Told:
        def report(self, done: int, total: int, what: str) -> None:
            told.append((done, total, what))

        def write(self, line: str) -> None:
            raise AssertionError(f"no other program talks here: {line}")

        pass_on = write

    ran(msgspec.structs.replace(runtime, progress=Told()), "abc", "b")

    assert told == [(1, 3, "letters"), (2, 3, "letters"), (3, 3, "letters")]


@pytest.mark.promise("cli.batch-empty")
@pytest.mark.parametrize("asked", [[], [str(number) for number in range(MOST_TARGETS + 1)]])
def test_no_target_and_too_many_are_refused(asked: list[str]) -> None:
    with pytest.raises(Fault) as raised:
        targets_of(asked, "ids")

    assert raised.value.kind.code == "E_VALIDATION"
