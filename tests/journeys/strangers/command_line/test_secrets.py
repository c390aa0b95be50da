"""What never comes out, and what is written down about each write."""

from __future__ import annotations

import json

import pytest

from tests.journeys.strangers.command_line.steps_a import (
    audit_lines,
    begun,
    contents,
    ended,
    previewed,
    session_of,
    started,
    written,
)
from tests.journeys.strangers.product import Product


@pytest.mark.promise("cli.secrets")
def test_tokens_of_a_command_line_come_out_of_no_later_answer_and_not_of_the_audit(product: Product) -> None:
    reply = started(product)
    line = ("session", "delete", "--ids", session_of(reply), "--dangerous")
    token = previewed(product, *line)

    came = [
        product.run("session", "delete", token, "--dangerous"),
        product.run(*line, "--Confirm", token),
        product.run(*line, "--confirm", token + "x", "--human"),
        product.run("run", "continue", "--ack", reply["ackToken"] + "0000", "--notes", "x"),
    ]

    refusals = [ran.out.split('"next_command"')[0] + ran.err for ran in came]
    assert all(ran.status != 0 for ran in came)
    assert not any(secret in text for text in refusals for secret in (token, reply["ackToken"]))
    assert token not in written(product)
    assert reply["ackToken"] not in written(product)


@pytest.mark.promise("cli.secrets")
def test_keys_and_the_password_of_an_index_come_out_of_no_self_description(product: Product) -> None:
    started(product)
    settings = {"update": {"index": "http://user:hunter2@127.0.0.1:9/simple"}}
    (product.home / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    keys = [text.decode() for name, text in contents(product.home / "data" / "keys").items()]
    words = {
        word for text in keys for word in text.replace('"', " ").replace(":", " ").split() if len(word) > 30
    }

    came = "".join(
        ran.out + ran.err
        for ran in (
            product.run("context", "--mvi", "full"),
            product.run("doctor", "--mvi", "full"),
            product.run("update", "--check"),
            product.run("store", "verify"),
        )
    )

    assert words
    assert "hunter2" not in came
    assert "hunter2" not in written(product)
    assert not any(word.strip("{},") in came for word in words)


@pytest.mark.promise("cli.credentials-boolean")
def test_context_says_that_there_are_keys_and_where_they_are_kept_and_nothing_of_them(
    product: Product,
) -> None:
    before = product.data("context")["credentials"]
    started(product)
    after = product.data("context", "--mvi", "full")["credentials"]

    assert before["configured"] is False
    assert after["configured"] is True
    assert after["backend"] == "file"
    assert all(isinstance(value, bool) or len(str(value)) < 12 for value in after.values())


@pytest.mark.promise("cli.audit")
@pytest.mark.parametrize(
    ("flags", "status"),
    [([], 5), (["--confirm", "ct_x"], 6), (["--fields", "nope"], 2)],
)
def test_a_refused_write_is_one_line_of_the_audit(product: Product, flags: list[str], status: int) -> None:
    session = session_of(started(product))
    before = len(audit_lines(product))

    ran = product.run("session", "delete", "--ids", session, "--dangerous", *flags)

    lines = audit_lines(product)[before:]
    assert ran.status == status
    assert [(line["command"], line["exit"]) for line in lines] == [("session delete", status)]
    assert {"args", "account", "at", "duration_ms"} <= set(lines[0])


@pytest.mark.promise("cli.audit")
def test_four_writes_at_once_are_four_whole_lines(product: Product) -> None:
    line = ("run", "start", "wr.small_change", "--goal", "g" * 200, "--request-id")

    for child in [begun(product, *line, f"k{number}") for number in range(4)]:
        assert ended(child).status == 0

    lines = audit_lines(product)
    assert sorted(line["args"]["requestId"] for line in lines) == ["k0", "k1", "k2", "k3"]
    assert {(line["exit"], line["account"]) for line in lines} == {(0, lines[0]["account"])}
    assert all(line["at"].endswith("Z") and line["duration_ms"] >= 0 for line in lines)


@pytest.mark.promise("cli.audit-quiet")
def test_quiet_writes_the_same_line_of_the_audit(product: Product) -> None:
    line = ("run", "close", "ses_none", "--reason", "abandoned")

    product.run(*line)
    product.run("--quiet", *line, "--human")

    loud, quiet = ({**entry, "at": "", "duration_ms": 0} for entry in audit_lines(product))
    assert loud == quiet
