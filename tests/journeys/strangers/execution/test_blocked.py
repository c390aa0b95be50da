"""What blocks, in which shape, and how one corrected call ends it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.filled_in import in_own_words
from tests.journeys.strangers.execution.flows_b import (
    FINDINGS,
    PLAN,
    USER_REASONS,
    Document,
    ack,
    codes,
    document,
    events,
    follow,
    run_of,
    session_of,
    start,
    steps,
    stored,
)
from tests.journeys.strangers.product import Called, Product

CODES = {
    "USER_ONLY_DEPENDENCY",
    "MISSING_REQUIRED_OUTPUT",
    "INVALID_REQUIRED_OUTPUT",
    "REQUIRED_CAPABILITY_UNKNOWN",
    "REQUIRED_CAPABILITY_UNAVAILABLE",
    "INVARIANT_VIOLATION",
    "STORAGE_CORRUPTION_DETECTED",
}
POINTERS = {
    "context_key": {"key"},
    "output_contract": {"contractRef"},
    "capability": {"capability"},
    "workflow_step": {"stepId"},
}


def asking(product: Product, reason: str) -> str:
    only: Document = {"reason": reason}
    if reason == "needs_user_choice":
        only["choiceKind"] = "irreversible_action"
    step = {"id": "ask", "title": "Ask", "prompt": "Ask.", "userOnly": only}
    return product.workflow(document(f"project.{reason}", [step, *steps(1)]))


def demanding(product: Product, gates: int = 14) -> str:
    """A step with more reasons to block than ten."""
    names = [f"as{number:02}" for number in range(gates)]
    step = {
        "id": "all",
        "title": "All of it",
        "prompt": "All of it.",
        "output": {"contractRef": "wr.contracts.plan"},
        "userOnly": {"reason": "needs_user_approval"},
        "gates": [{"assessmentId": name, "followups": {"low": "ß" * 3000}} for name in reversed(names)],
        "validation": [{"type": "contains", "value": "zebra", "message": "Name the zebra. " + "ü" * 1900}],
    }
    judged = [{"id": name, "purpose": "Judge.", "dimensions": {"d": ["low", "high"]}} for name in names]
    return product.workflow(document("project.demanding", [step, *steps(1)], assessments=judged))


def filled(skeleton: Any) -> Any:
    """The skeleton of a call with every placeholder filled, as an honest agent would do it."""
    params = skeleton["params"]
    output = params["output"]
    if "notesMarkdown" in output:
        output["notesMarkdown"] = "The zebra was seen."
    done = []
    for artifact in output.get("artifacts", []):
        if artifact["kind"] == "wr.assessment":
            artifact["dimensions"] = {"d": "high"}
        if artifact["kind"] == "wr.user_input":
            artifact["answer"] = "Yes."
        done.append(PLAN if artifact["kind"] == "wr.plan" else artifact)
    if done:
        output["artifacts"] = done
    return skeleton


@pytest.mark.promise("user-only.answer")
@pytest.mark.parametrize("given_by", ["agent", "assistant", "User", ""])
def test_an_answer_that_the_agent_gave_itself_does_not_pass_for_the_user(
    product: Product, given_by: str
) -> None:
    workflow = asking(product, "needs_user_approval")
    answer = {"kind": "wr.user_input", "answer": "yes", "givenBy": given_by}
    with product.serve() as server:
        begun = start(server, workflow)

        lazy = ack(server, begun, "The user surely agrees.", answer)
        honest = ack(server, lazy, None, {"kind": "wr.user_input", "answer": False, "givenBy": "user"})

    assert lazy.structured["kind"] == "blocked"
    assert lazy.structured["pending"]["stepId"] == "ask"
    assert honest.structured["pending"]["stepId"] == "s1"


@pytest.mark.promise("user-only.reasons")
def test_every_reason_blocks_and_is_a_critical_gap_of_that_name_where_nobody_is_asked(
    product: Product,
) -> None:
    flows = {reason: asking(product, reason) for reason in USER_REASONS}
    with product.serve() as server:
        guided = {r: ack(server, start(server, flow), "no answer") for r, flow in flows.items()}
        stops = {"autonomy": "full_auto_stop_on_user_deps"}
        stopping = {
            r: ack(server, start(server, f, preferences=stops), "no answer") for r, f in flows.items()
        }
        never = {"autonomy": "full_auto_never_stop"}
        going = {r: ack(server, start(server, f, preferences=never), "no answer") for r, f in flows.items()}
        gaps = {
            reason: product.data("session", "show", session_of(reply))["runs"][0]["gaps"]
            for reason, reply in going.items()
        }

    for reply in [*guided.values(), *stopping.values()]:
        assert [blocker["code"] for blocker in reply.structured["blockers"]] == ["USER_ONLY_DEPENDENCY"]
    assert {reply.structured["pending"]["stepId"] for reply in going.values()} == {"s1"}
    for reason, found in gaps.items():
        assert [gap["severity"] for gap in found] == ["critical"], reason
        assert reason in str(found[0])
        assert reason in going[reason].text


@pytest.mark.promise("blocked.or-gap")
def test_the_same_report_blocks_in_two_modes_and_is_a_gap_of_the_same_reason_in_the_third(
    product: Product,
) -> None:
    parts = [
        {
            "id": "look",
            "title": "Look",
            "prompt": "Look.",
            "output": {"contractRef": "wr.contracts.review_findings"},
        },
        *steps(1),
    ]
    workflow = product.workflow(document("project.look", parts))
    wrong = FINDINGS | {"verdict": "perhaps"}
    with product.serve() as server:
        replies = {
            mode: ack(server, start(server, workflow, preferences={"autonomy": mode}), "n", wrong)
            for mode in ("guided", "full_auto_stop_on_user_deps", "full_auto_never_stop")
        }
        session = session_of(replies["full_auto_never_stop"])
        gaps = product.data("session", "show", session)["runs"][0]["gaps"]

    kinds = [reply.structured["kind"] for reply in replies.values()]
    assert kinds == ["blocked", "blocked", "ok"]
    assert replies["guided"].structured["blockers"][0]["code"] == "INVALID_REQUIRED_OUTPUT"
    assert [gap["severity"] for gap in gaps] == ["critical"]
    assert "invalid_required_output" in str(gaps[0]).lower()


@pytest.mark.promise("blocked.or-gap")
def test_the_gap_of_a_violated_contract_tells_which_artifact_it_is_about(product: Product) -> None:
    parts = [
        {
            "id": "look",
            "title": "Look",
            "prompt": "Look.",
            "output": {"contractRef": "wr.contracts.review_findings"},
        },
        *steps(1),
    ]
    workflow = product.workflow(document("project.look", parts))
    with product.serve() as server:
        begun = start(server, workflow, preferences={"autonomy": "full_auto_never_stop"})

        reply = ack(server, begun, "n", FINDINGS | {"verdict": "perhaps"})

        gaps = product.data("session", "show", session_of(begun))["runs"][0]["gaps"]
    assert "review_findings" in str(gaps[0])
    assert "review_findings" in str(reply.structured["warnings"])


@pytest.mark.promise("full-auto.disclosed")
def test_an_artifact_that_is_said_not_to_be_kept_is_no_output_of_the_run(product: Product) -> None:
    parts = [
        {
            "id": "look",
            "title": "Look",
            "prompt": "Look.",
            "output": {"contractRef": "wr.contracts.review_findings"},
        },
        *steps(1),
    ]
    workflow = product.workflow(document("project.look", parts))
    with product.serve() as server:
        begun = start(server, workflow, preferences={"autonomy": "full_auto_never_stop"})

        reply = ack(server, begun, "n", FINDINGS | {"verdict": "perhaps"})

        shown = product.data("session", "show", session_of(begun))["runs"][0]
        report = product.run(
            "session", "export", session_of(begun), "--as", "markdown", "--format", "raw"
        ).out
    assert "was not kept" in reply.text
    assert shown["artifacts"] == []
    assert "no contract asks for it" not in report
    assert "Verdict: perhaps" not in report


@pytest.mark.promise("blocked.invalid")
def test_faults_deep_in_an_artifact_are_named_with_their_place_and_the_example_passes(
    product: Product,
) -> None:
    parts = [
        {
            "id": "look",
            "title": "Look",
            "prompt": "Look.",
            "output": {"contractRef": "wr.contracts.review_findings"},
        },
        *steps(1),
    ]
    workflow = product.workflow(document("project.look", parts))
    deep = {
        "title": "T",
        "severity": "Major",
        "problem": "P",
        "evidence": [{"source": "file"}],
        "suggestion": "S",
    }
    with product.serve() as server:
        begun = start(server, workflow)

        blocked = ack(server, begun, "n", FINDINGS | {"findings": [deep], "extra~/key": 1})
        passed = ack(server, blocked, None, in_own_words(blocked.structured["example"]))

    pointers = {issue["pointer"] for issue in blocked.structured["issues"]}
    assert {
        "/findings/0/severity",
        "/findings/0/evidence/0/ref",
        "/findings/0/evidence/0/result",
    } <= pointers
    for pointer in pointers:
        assert pointer in blocked.text
    assert "major" in blocked.text
    assert passed.structured["pending"]["stepId"] == "s1"


@pytest.mark.promise("blocked.shape")
def test_blockers_of_every_kind_have_the_four_keys_and_values_from_the_closed_sets(product: Product) -> None:
    web = product.workflow(document("project.web", steps(1), capabilities={"web_browsing": "required"}))
    each = product.workflow(
        document(
            "project.each",
            [
                *steps(1),
                {
                    "type": "loop",
                    "loopId": "rounds",
                    "forEach": {"input": "files", "as": "file"},
                    "maxIterations": 3,
                    "body": [{"id": "one", "title": "One", "prompt": "Look at {{file}}."}],
                },
            ],
            inputs={"files": {"type": "array"}},
        )
    )
    gone = {
        "kind": "wr.capability_observation",
        "capability": "web_browsing",
        "status": "unavailable",
        "summary": "x",
    }
    hazy = gone | {"status": "unknown"}
    with product.serve() as server:
        replies: list[Called] = [
            ack(server, start(server, demanding(product)), "n"),
            ack(server, start(server, web), "n"),
            ack(server, start(server, web), "n", gone),
            ack(server, start(server, web), "n", hazy),
            ack(server, start(server, asking(product, "needs_user_artifact")), "n"),
            ack(server, start(server, each), "n"),
        ]

    seen = set()
    for reply in replies:
        assert reply.structured["kind"] == "blocked", reply.text
        assert reply.structured["blockers"]
        for blocker in reply.structured["blockers"]:
            assert set(blocker) in (
                {"code", "pointer", "message"},
                {"code", "pointer", "message", "suggestedFix"},
            )
            assert blocker["code"] in CODES
            pointer = blocker["pointer"]
            assert set(pointer) == {"kind"} | POINTERS[pointer["kind"]]
            seen.add((blocker["code"], pointer["kind"]))
    assert len({code for code, _ in seen}) >= 5, seen


@pytest.mark.promise("blocked.order")
def test_ten_blockers_come_sorted_whatever_the_order_in_the_file(product: Product) -> None:
    with product.serve() as server:
        reply = ack(server, start(server, demanding(product)), "n")

    found = reply.structured["blockers"]
    keys = [(b["code"], b["pointer"]["kind"], sorted(b["pointer"].items()), b["message"]) for b in found]
    assert len(found) == 10
    assert keys == sorted(keys)
    assert [line for line in reply.text.splitlines() if line.startswith("- ") and "(kind " in line][9]


@pytest.mark.promise("blocked.order")
def test_more_than_ten_blockers_say_that_some_were_left_out(product: Product) -> None:
    with product.serve() as server:
        reply = ack(server, start(server, demanding(product)), "n")

    said = " ".join(issue["message"] + issue.get("contractRef", "") for issue in reply.structured["issues"])
    assert "wr.contracts.plan" in said or " more" in reply.text, "seven further reasons are named nowhere"


@pytest.mark.promise("blocked.bounds")
def test_no_blocker_outgrows_its_bytes_with_wide_letters_in_messages_follow_ups_and_values(
    product: Product,
) -> None:
    step = {
        "id": "look",
        "title": "Look",
        "prompt": "L.",
        "output": {"contractRef": "wr.contracts.review_findings"},
    }
    workflow = product.workflow(document("project.look", [step, *steps(1)]))
    wide = "𝔘" * 2000
    with product.serve() as server:
        low = [
            {"kind": "wr.assessment", "assessmentId": f"as{n:02}", "dimensions": {"d": "low"}}
            for n in range(14)
        ]
        replies = [
            ack(server, start(server, demanding(product)), "n"),
            ack(server, start(server, demanding(product)), "n", *low),
            ack(
                server,
                start(server, workflow),
                "n",
                FINDINGS | {"verdict": wide, wide: wide, "reviewed": [wide]},
            ),
        ]

    for reply in replies:
        assert reply.structured["kind"] == "blocked"
        for blocker in reply.structured["blockers"]:
            assert len(blocker["message"].encode()) <= 512
            assert len(blocker["suggestedFix"].encode()) <= 1024
            assert "�" not in blocker["message"] + blocker["suggestedFix"]


@pytest.mark.promise("blocked.retry")
def test_the_call_of_a_blocked_reply_filled_in_is_enough_even_with_seventeen_reasons(
    product: Product,
) -> None:
    with product.serve() as server:
        blocked = ack(server, start(server, demanding(product)), "n")

        passed = follow(server, filled(blocked.structured["nextCall"]))

    assert passed.structured["kind"] == "ok", passed.text[:1500]
    assert passed.structured["pending"]["stepId"] == "s1"


@pytest.mark.promise("blocked.retry")
def test_a_wrong_optional_artifact_beside_a_missing_one_needs_one_corrected_call(product: Product) -> None:
    step = {
        "id": "look",
        "title": "Look",
        "prompt": "L.",
        "output": {"contractRef": "wr.contracts.review_findings"},
    }
    workflow = product.workflow(document("project.look", [step, *steps(1)]))
    bad = [
        {"kind": "wr.gap", "severity": "huge", "summary": ""},
        {"kind": "wr.workflow_divergence", "reason": "bored", "summary": "x"},
        {"kind": "wr.capability_observation", "capability": "flying", "status": "available", "summary": "x"},
        {"kind": "wr.gap", "severity": "info", "summary": "x", "resolvesGapId": "gap_nope_1"},
    ]
    with product.serve() as server:
        for artifact in bad:
            begun = start(server, workflow)
            first = ack(server, begun, "kept notes", artifact)
            second = (
                ack(server, first, None, FINDINGS) if first.structured.get("kind") == "blocked" else first
            )

            if second.is_error:
                second = ack(server, begun, "kept notes", FINDINGS)
            assert second.structured["pending"]["stepId"] == "s1", (artifact, first.text)


@pytest.mark.promise("blocked.or-gap")
def test_a_user_who_switches_a_blocked_run_to_never_stop_is_not_blocked_again(product: Product) -> None:
    workflow = asking(product, "needs_user_approval")
    with product.serve() as server:
        blocked = ack(server, start(server, workflow), "n")
        session = session_of(blocked)
        line = ("preferences", "set", "--session", session, "--autonomy", "full_auto_never_stop")
        token = product.data(*line, "--dry-run")["confirm_token"]
        product.data(*line, "--confirm", token)

        reply = ack(server, blocked, "assumed yes")

    assert reply.structured["kind"] == "ok"
    assert "NOT_ASKED" in codes(reply)


@pytest.mark.promise("full-auto.disclosed")
def test_the_end_of_a_never_stop_run_names_every_question_that_nobody_was_asked(product: Product) -> None:
    parts: list[Document] = [
        {"id": "ok", "title": "Confirm", "prompt": "Do.", "requireConfirmation": True},
        {"id": "ask", "title": "Ask", "prompt": "Ask.", "userOnly": {"reason": "needs_user_account_access"}},
        {
            "type": "choice",
            "id": "way",
            "title": "Way",
            "prompt": "Choose.",
            "nonAssumable": "irreversible_action",
            "options": [{"id": "a", "label": "A"}, {"id": "b", "label": "B"}],
        },
    ]
    workflow = product.workflow(
        document("project.auto", parts, questions=["Which colour does the user want?"])
    )
    with product.serve() as server:
        reply = start(server, workflow, preferences={"autonomy": "full_auto_never_stop"})
        reply = ack(server, ack(server, reply, "assumed"), "assumed")
        token = reply.structured["pending"]["choices"][0]["token"]
        ended = server.call("continue_workflow", ackToken=token, output={"notesMarkdown": "took A"})

        shown = product.data("session", "show", session_of(reply))["runs"][0]
        report = product.run(
            "session", "export", session_of(reply), "--as", "markdown", "--format", "raw"
        ).out

    assert ended.structured["isComplete"] is True
    assert shown["status"] == "complete_with_gaps"
    gaps = str(shown["gaps"])
    assert len([gap for gap in shown["gaps"] if not gap.get("is_resolved")]) >= 3, gaps
    assert "needs_user_account_access" in gaps
    assert "irreversible_action" in gaps
    assert "questions" in gaps
    assert "questions" in report
    assert str(len(shown["gaps"])) in ended.structured["closing"]


@pytest.mark.promise("blocked.shape")
def test_a_refused_ack_of_another_run_stores_nothing_in_either(product: Product) -> None:
    workflow = asking(product, "needs_user_approval")
    with product.serve() as server:
        one, two = start(server, workflow), start(server, workflow)
        before = stored(product, session_of(one)) + stored(product, session_of(two))

        reply = server.call(
            "continue_workflow",
            stateToken=one.structured["stateToken"],
            ackToken=two.structured["ackToken"],
            output={"notesMarkdown": "mixed"},
        )

        after = stored(product, session_of(one)) + stored(product, session_of(two))
        records = events(product, session_of(two), "advance_recorded")
    assert reply.is_error
    assert reply.structured["code"] == "TOKEN_SCOPE_MISMATCH"
    assert after == before
    assert records == []
    assert run_of(one) != run_of(two)
