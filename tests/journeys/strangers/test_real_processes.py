"""What only real processes show: several at once, a full disk, and lines that are run as they are printed."""

from __future__ import annotations

import json
import resource
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.journeys.strangers.product import PROGRAM, Called, Product, Ran, Server


def started(product: Product, key: str) -> dict[str, Any]:
    """The first reply of a new run of a bundled workflow."""
    return product.data("run", "start", "wr.small_change", "--goal", "look", "--request-id", key)


def session_ids(product: Product) -> list[str]:
    return [str(item["id"]) for item in product.data("session", "list")["items"]]


def report(server: Server, reply: dict[str, Any], notes: str) -> Called:
    return server.call("continue_workflow", ackToken=reply["ackToken"], output={"notesMarkdown": notes})


def on_small_disk(product: Product, limit: int, *line: str) -> Ran:
    """What comes of the line when no file may grow over this many bytes."""
    ran = subprocess.run(
        [PROGRAM, *line],
        cwd=product.project,
        # Python would leave compiled modules behind that are cut off at the limit.
        env=product.environment | {"PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    return Ran(ran.returncode, ran.stdout.decode(), ran.stderr.decode())


@pytest.mark.promise("continue.once")
def test_three_servers_with_one_ack_make_one_record_and_answer_alike(product: Product) -> None:
    begun = started(product, "k1")
    with product.serve() as first, product.serve() as second, product.serve() as third:
        with ThreadPoolExecutor(3) as pool:
            replies = list(pool.map(lambda each: report(each, begun, "the one"), (first, second, third)))
        late = report(second, begun, "the one")

    events = product.data("session", "events", begun["session"]["sessionId"])["items"]
    kinds = [event["kind"] for event in events]
    assert {reply.structured["stateToken"] for reply in (*replies, late)} == {late.structured["stateToken"]}
    assert kinds.count("advance_recorded") == 1
    assert kinds.count("node_created") == 2


@pytest.mark.promise("cli.create-key")
@pytest.mark.thorough
def test_one_key_from_four_processes_at_once_makes_one_run(product: Product) -> None:
    line = [PROGRAM, "run", "start", "wr.small_change", "--request-id", "pr-1", "--goal", "look"]

    children = [
        subprocess.Popen(line, stdout=subprocess.PIPE, cwd=product.project, env=product.environment)
        for _ in range(4)
    ]
    replies = [json.loads(child.communicate(timeout=60)[0])["data"] for child in children]

    assert len({reply["ackToken"] for reply in replies}) == 1
    assert len(session_ids(product)) == 1


@pytest.mark.promise("cli.disk")
@pytest.mark.thorough
@pytest.mark.parametrize("limit", [200, 2_000])
def test_a_disk_that_refuses_is_told_and_the_same_call_works_once_there_is_room(
    product: Product, limit: int
) -> None:
    first = started(product, "k1")
    line = ("run", "start", "wr.small_change", "--goal", "look", "--request-id", "k2")

    full = on_small_disk(product, limit, *line)
    listed = session_ids(product)
    roomy = product.data(*line)

    error = full.document["error"]
    assert (full.status, error["code"], error["retryable"]) == (1, "E_IO", False)
    assert listed == [first["session"]["sessionId"]]
    assert session_ids(product) == [roomy["session"]["sessionId"], *listed]


@pytest.mark.promise("cli.sort-declared")
@pytest.mark.thorough
def test_an_old_session_that_moves_comes_first_as_the_declared_order_says(product: Product) -> None:
    first, second = started(product, "a"), started(product, "b")

    product.data("run", "checkpoint", "--checkpoint", first["checkpointToken"], "--notes", "moved")

    (command,) = product.data("reference", "--command", "session list")["commands"]
    assert command["default_sort"].startswith("last activity (newest first)")
    assert session_ids(product) == [reply["session"]["sessionId"] for reply in (first, second)]


@pytest.mark.promise("cli.codes-stable")
@pytest.mark.thorough
@pytest.mark.parametrize("line", ["session show ses_0", "store gc", "run continue --ack ak1000"])
def test_both_dialects_and_text_end_with_the_same_status_and_the_same_advice(
    product: Product, line: str
) -> None:
    ours = product.run(*line.split())
    lafs = product.run(*line.split(), "--envelope", "lafs")
    text = product.run(*line.split(), "--human")

    assert ours.status == lafs.status == text.status != 0
    assert ours.document["error"]["retryable"] == lafs.document["error"]["retryable"]


@pytest.mark.promise("cli.doctor")
@pytest.mark.thorough
def test_every_fix_that_is_a_command_runs_as_it_is_printed(product: Product) -> None:
    setup = ("setup", "--clients", "cursor")
    product.data(*setup, "--confirm", product.data(*setup, "--dry-run")["confirm_token"])
    skill = next((product.project.parent / ".agents").rglob("SKILL.md"))
    skill.write_text(skill.read_text(encoding="utf-8") + "Changed by hand.\n", encoding="utf-8")
    checks = product.data("doctor", "--offline")["checks"]
    fixes = [check["fix"] for check in checks if (check["fix"] or "").startswith("handrail ")]

    failed = [fix for fix in fixes if "update" not in fix and product.run(*shlex.split(fix)[1:]).status != 0]

    assert fixes
    assert failed == []


@pytest.mark.promise("store.unsound")
@pytest.mark.thorough
def test_every_command_that_the_banner_of_a_damaged_session_prints_works(product: Product) -> None:
    with product.serve() as server:
        begun = started(product, "k1")
        report(server, report(server, begun, "one").structured, "two")
    session = begun["session"]["sessionId"]
    log = product.home / "data" / "sessions" / session / "events-000001.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"one"', b'"One"'))
    banner = product.data("session", "show", session)["health"]["banner"]
    verify = banner[banner.index("handrail store verify") :].split(", and")[0]
    salvage = banner[banner.index("handrail session export") :].split(" to keep")[0].replace("FILE", "saved")

    checked = product.run(*shlex.split(verify)[1:])
    exported = product.run(*shlex.split(salvage)[1:])

    assert exported.status == 0, exported.out
    assert checked.document.get("error", {}).get("code") != "E_USAGE", (verify, checked.out)
