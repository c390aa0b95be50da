"""An upstream's status becomes a kind by number alone."""

from __future__ import annotations

import pytest

from handrail.contract.outcome import failure_of
from handrail.program.update.find_release import make_update_failure
from handrail.program.update.package_index import kind_of_upstream, wait_ms_of_header
from tests.cases import every_case

# CLI section 6; the last two are answers that no rule covers.
KIND_OF = {
    400: "E_VALIDATION",
    401: "E_AUTH",
    403: "E_FORBIDDEN",
    404: "E_NOT_FOUND",
    408: "E_TIMEOUT",
    409: "E_CONFLICT",
    410: "E_VALIDATION",
    418: "E_VALIDATION",
    422: "E_VALIDATION",
    429: "E_RATE_LIMITED",
    499: "E_VALIDATION",
    500: "E_SERVER",
    502: "E_SERVER",
    503: "E_SERVER",
    504: "E_SERVER",
    599: "E_SERVER",
    302: "E_UNKNOWN",
    600: "E_UNKNOWN",
}


@pytest.mark.promise("cli.upstream")
@every_case("status", KIND_OF)
def test_a_status_has_its_kind(status: int) -> None:
    assert kind_of_upstream(status).code == KIND_OF[status]


@pytest.mark.promise("cli.upstream")
def test_no_answer_at_all_is_a_network_trouble() -> None:
    assert kind_of_upstream(None).code == "E_NETWORK"


def test_other_client_errors_are_not_retried() -> None:
    """A refusal of ours to retry holds for every other client error."""
    retryable = {status for status in range(400, 500) if kind_of_upstream(status).is_retryable}

    assert retryable == {408, 429}


@every_case(
    ("header", "wait_ms"),
    [
        ("5", 5000),
        (" 120 ", 120_000),
        ("0", 0),
        (None, None),
        ("", None),
        ("soon", None),
        ("-1", None),
        ("1.5", None),
        ("٣", None),
        ("9" * 5000, None),
        ("Wed, 21 Oct 2026 07:28:00 GMT", None),
    ],
)
def test_a_wait_is_read_only_from_whole_seconds(header: str | None, wait_ms: int | None) -> None:
    assert wait_ms_of_header(header) == wait_ms


def test_failed_update_names_its_stage() -> None:
    """Whatever an index answers, a failed update can be reported with its stage."""
    for status in (None, *range(100, 1000)):
        failed = make_update_failure(kind_of_upstream(status), "The index did not help.", stage="discover")

        assert failure_of(failed).details["stage"] == "discover", status
