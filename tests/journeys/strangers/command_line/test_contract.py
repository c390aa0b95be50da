"""The published contract: envelope, codes, exit statuses, and whether real answers keep them."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.journeys.strangers.command_line.steps_a import objects, session_of, started
from tests.journeys.strangers.product import Product, Ran

CORE = {
    "E_USAGE": (2, False),
    "E_VALIDATION": (2, False),
    "E_NOT_FOUND": (3, False),
    "E_AUTH": (4, False),
    "E_FORBIDDEN": (4, False),
    "E_CONFIG": (4, False),
    "E_CONFIRMATION_REQUIRED": (5, False),
    "E_CONFLICT": (6, False),
    "E_NETWORK": (7, True),
    "E_RATE_LIMITED": (7, True),
    "E_SERVER": (7, True),
    "E_TIMEOUT": (8, True),
    "E_INTEGRITY": (1, False),
    "E_IO": (1, False),
    "E_INTERRUPTED": (130, True),
    "E_HUMAN_REQUIRED": (9, False),
}

REFUSED = [
    (["session", "list", "--cursor", "cu1e30"], "session list"),
    (["run", "continue", "--ack", "ak1000"], "run continue"),
    (["run", "close", "ses_0", "--reason", "abandoned"], "run close"),
    (["workflow", "graph", "wr.none"], "workflow graph"),
    (["session", "import", "nothing.json", "--dry-run"], "session import"),
    (["preferences", "set", "--session", "ses_0", "--preset", "guided"], "preferences set"),
    (["store", "gc"], "store gc"),
    (["session", "start", "--goal", "x", "--request-id", "k"], "session start"),
    (["reference", "--command", "store", "--budget", "tokens=1"], "reference"),
    (["ledger", "show", "run_0", "--mode", "delta", "--since-version", "-1"], "ledger show"),
    (["lafs", "check", "."], "lafs check"),
    (["workflow", "new", "wr.mine", "--dry-run"], "workflow new"),
]


@pytest.fixture(name="reference")
def reference_fixture(product: Product) -> dict[str, Any]:
    return product.data("reference")


def codes_of(ran: Ran) -> set[str]:
    error = ran.document["error"]
    return {error["code"], error["details"].get("domain_code", error["code"])}


@pytest.mark.promise("cli.envelope")
def test_the_envelope_has_exactly_its_keys_also_for_version_help_and_settings_trouble(
    product: Product,
) -> None:
    good = [product.run("--version", "--json"), product.run("run", "start", "--help", "--json")]
    bad = [
        product.run("workflow", "list", HANDRAIL_ENVELOPE="x"),
        product.run("session", "list", "--timeout", "1.5"),
    ]

    assert [list(ran.document) for ran in good] == [["ok", "schema_version", "data", "meta"]] * 2
    assert [list(ran.document) for ran in bad] == [["ok", "schema_version", "error", "meta"]] * 2
    assert all(ran.document["schema_version"] == "1.0" for ran in good + bad)
    assert all(isinstance(ran.document["meta"]["duration_ms"], int) for ran in good + bad)


@pytest.mark.promise("cli.error")
@pytest.mark.parametrize("line", [line for line, _ in REFUSED[:6]])
def test_an_error_has_exactly_four_keys_and_its_details_say_what_to_do(
    product: Product, line: list[str]
) -> None:
    ran = product.run(*line)

    error = ran.document["error"]
    assert list(error) == ["code", "message", "details", "retryable"]
    assert error["details"]["hint"]
    assert error["details"]["next_command"] is None or error["details"]["next_command"].startswith(
        "handrail "
    )


@pytest.mark.promise("cli.error")
def test_a_flag_that_is_proposed_is_one_that_the_command_takes(product: Product) -> None:
    proposed = product.error("workflow", "list", "-o", "json")["details"].get("did_you_mean", [])

    offered = product.data("reference", "--command", "workflow list")["commands"][0]
    taken = set(offered["global_flags"]) | {param["flag"] for param in offered["params"]}
    assert set(proposed) <= taken


@pytest.mark.promise("cli.details-redacted")
@pytest.mark.parametrize(
    "line",
    [
        ["run", "start", "wr.small_change", "--password", "hunter2", "--request-id", "k"],
        ["session", "show", "ses_0", "--api-token", "hunter2"],
        ["run", "start", "--input", '{"password": "hunter2", "workflowId": {"secret": "hunter2"}}'],
        ["run", "continue", "--ack", "hunter2", "--notes", "x"],
    ],
)
def test_what_stands_under_a_telling_name_is_nowhere_in_the_refusal(
    product: Product, line: list[str]
) -> None:
    ran = product.run(*line)

    assert ran.status != 0
    assert "hunter2" not in ran.out + ran.err


@pytest.mark.promise("cli.notices")
def test_notices_are_whole_and_left_out_when_there_is_none(product: Product) -> None:
    told = [
        product.run("workflow", "list", "--fields", "id,nope"),
        product.run("context", "--budget", "items=1"),
        product.run("run", "start", "wr.small_change", "--goal", "x", "--request-id", "k2"),
    ]
    silent = product.run("session", "list")
    refused = product.run("session", "list", "--fields", "nope")

    notices = [notice for ran in told for notice in ran.document["meta"].get("notices", [])]
    assert len(notices) >= 3
    assert all(notice["type"] and notice["message"] for notice in notices)
    assert {notice["severity"] for notice in notices} <= {"info", "warning"}
    assert "notices" not in silent.document["meta"]
    assert "notices" not in refused.document["meta"]


@pytest.mark.promise("cli.schema-version")
def test_a_minor_version_of_ours_is_served_and_another_major_is_refused_before_a_write(
    product: Product,
) -> None:
    line = ("run", "start", "wr.small_change", "--goal", "x", "--request-id", "k")

    refused = product.run(*line, "--schema-version", "2.0")
    listed = product.data("session", "list", "--schema-version", "1.42")

    error = refused.document["error"]
    assert refused.status == 4
    assert error["details"]["requested"] == "2.0"
    assert "1" in error["details"]["supported"]
    assert listed["count"] == 0


@pytest.mark.promise("cli.contract-published")
@pytest.mark.promise("cli.one-table")
def test_the_published_codes_are_those_of_the_specification(reference: dict[str, Any]) -> None:
    published = reference["error_codes"]

    core = {
        code: (published[code]["exit"], published[code]["retryable"]) for code in CORE if code in published
    }
    assert core == CORE
    assert {int(status) for status in reference["exit_codes"]} == set(range(10)) | {130}


@pytest.mark.promise("cli.core-frozen")
@pytest.mark.parametrize(("line", "command"), REFUSED)
def test_our_own_codes_travel_under_a_core_code_that_names_them(
    product: Product, reference: dict[str, Any], line: list[str], command: str
) -> None:
    ran = product.run(*line)

    error = ran.document["error"]
    entry = reference["error_codes"][error["code"]]
    assert error["code"] in CORE
    assert (ran.status, error["retryable"]) == CORE[error["code"]]
    assert error["details"].get("domain_code") in [None, *entry["native_codes"]]


@pytest.mark.promise("cli.extension")
def test_codes_beyond_the_core_declare_themselves_and_leave_nine_to_people(reference: dict[str, Any]) -> None:
    published = reference["error_codes"]
    own = {code: entry for code, entry in published.items() if code not in CORE}
    native = [
        code for entry in published.values() for code in entry["native_codes"] + entry["reserved_codes"]
    ]

    assert all(code.startswith("E_") and isinstance(entry["exit"], int) for code, entry in own.items())
    assert all(isinstance(entry["retryable"], bool) for entry in own.values())
    assert {code for code, entry in published.items() if entry["exit"] == 9} <= {
        "E_HUMAN_REQUIRED",
        "E_2FA_REQUIRED",
    }
    assert len(native) == len(set(native))
    assert not set(native) & set(published)


@pytest.mark.promise("cli.contract-held")
@pytest.mark.promise("cli.exits")
@pytest.mark.parametrize(("line", "command"), REFUSED)
def test_a_refusal_is_one_that_the_command_declares(
    product: Product, reference: dict[str, Any], line: list[str], command: str
) -> None:
    ran = product.run(*line)

    declared = next(entry for entry in reference["commands"] if entry["path"] == command)["errors"]
    assert codes_of(ran) & set(declared), (codes_of(ran), declared)


@pytest.mark.promise("cli.contract-held")
def test_answers_have_no_field_that_their_schema_does_not_publish(
    product: Product, reference: dict[str, Any]
) -> None:
    session = session_of(started(product))
    lines = {
        "session_summary": ("session", "show", session),
        "store_sizes": ("store", "du"),
        "exported_session": ("session", "export", session, "--as", "markdown", "--out", "report.md"),
        "shown_preferences": ("preferences", "show", "--session", session),
    }

    for name, line in lines.items():
        published = {field.split(".")[0] for field in reference["schemas"][name]["fields"]} | {"_untrusted"}
        assert set(product.data(*line)) <= published, name


@pytest.mark.promise("cli.codes-stable")
def test_both_dialects_and_text_end_with_the_same_status_and_the_same_advice(product: Product) -> None:
    for line in (["session", "show", "ses_0"], ["store", "gc"], ["run", "continue", "--ack", "ak1000"]):
        ours = product.run(*line)
        lafs = product.run(*line, "--envelope", "lafs")
        text = product.run(*line, "--human")

        assert ours.status == lafs.status == text.status == CORE[ours.document["error"]["code"]][0]
        assert ours.document["error"]["retryable"] == lafs.document["error"]["retryable"]


@pytest.mark.promise("cli.reserved")
def test_no_command_declares_a_reserved_code_and_every_other_code_has_a_command(
    reference: dict[str, Any],
) -> None:
    declared = {code for command in reference["commands"] for code in command["errors"]}
    table = reference["error_codes"]
    reserved = {code for code, entry in table.items() if entry["reserved"]}
    hidden = {code for entry in table.values() for code in entry["reserved_codes"]}
    reachable = {code for entry in table.values() for code in entry["native_codes"]}

    assert "E_HUMAN_REQUIRED" in declared
    assert not declared & (reserved | hidden)
    assert reachable <= declared
    assert not declared - set(table) - reachable


class Index(http.server.BaseHTTPRequestHandler):
    """An index that answers with the status in its path and with misleading words."""

    def do_GET(self) -> None:
        status = int(self.path.split("/")[1])
        self.send_response(status)
        self.end_headers()
        self.wfile.write(b"404 not found, timeout, conflict, unauthorized")

    def log_message(self, *words: object) -> None:
        return


@pytest.fixture(name="index")
def index_fixture() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Index)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


UPSTREAM = [
    (401, "E_AUTH"),
    (403, "E_FORBIDDEN"),
    (404, "E_NOT_FOUND"),
    (408, "E_TIMEOUT"),
    (409, "E_CONFLICT"),
    (429, "E_RATE_LIMITED"),
    (503, "E_SERVER"),
    (599, "E_SERVER"),
]


@pytest.mark.promise("cli.upstream")
@pytest.mark.parametrize(("status", "code"), UPSTREAM)
def test_a_status_of_the_index_has_its_own_code_whatever_words_come_with_it(
    product: Product, index: str, status: int, code: str
) -> None:
    product.home.mkdir(mode=0o700)
    settings = {"update": {"index": f"http://user:hunter2@{index}/{status}"}}
    (product.home / "config.json").write_text(json.dumps(settings), encoding="utf-8")

    ran = product.run("update", "--check")

    error = ran.document["error"]
    assert error["code"] == code
    assert (ran.status, error["retryable"]) == CORE[code]
    assert error["details"]["stage"] == "discover"
    assert error["details"]["binary_replaced"] is False
    assert "hunter2" not in ran.out + ran.err


@pytest.mark.promise("cli.one-table")
def test_every_retryable_that_is_told_is_that_of_the_table(product: Product) -> None:
    product.run("run", "start", "wr.small_change", "--goal", "x", "--request-id", "k")
    (product.project / "bad.json").write_text("{", encoding="utf-8")

    ran = product.run("workflow", "validate", "bad.json", "none.json", "wr.small_change")

    told = [item for item in objects(ran.document) if "code" in item and "retryable" in item]
    assert ran.status == CORE[ran.document["error"]["code"]][0]
    assert all(item["retryable"] == CORE[item["code"]][1] for item in told if item["code"] in CORE)
