"""One node of a run, and two of them side by side, as people see them."""

from __future__ import annotations

from typing import Any

from tests.surfaces.cli.test_looks import check_look


def test_a_node_is_told_by_what_is_claimed_and_how_each_claim_is_known() -> None:
    near = {"id": "nod_1", "kind": "step", "title": "Plan", "is_on_path": True}
    claim = {"text": "It adds up. (a.py:3)", "told": "only that the place exists", "pointer": "/claims/0/ref"}
    node = {
        "session_id": "ses_1",
        "node_id": "nod_2",
        "goal": "Add up",
        "kind": "blocked_attempt",
        "at": "",
        "title": "Verify",
        "banner": "",
        "option_id": "",
        "is_fork": False,
        "notes": "Looked.\nTwice.",
        "is_cut": False,
        "origin": {"workflow_name": "Small change"},
        "blockers": [{"message": "Nobody has confirmed it.", "fix": "Answer yes or no."}],
        "gaps": [{"severity": "warning", "is_open": True, "summary": "No owner."}],
        "claims": [claim],
        "person": {"who": "Ana", "said": "yes", "note": "fine"},
        "divergences": [],
        "receipts": [{"command": ["make", "test"], "outcome": "exit 0"}],
        "artifacts": [
            {"kind": "wr.handoff", "is_refused": False, "body": {"kind": "wr.handoff", "status": "done"}}
        ],
        "pending": {"title": "Verify", "done": 1, "at_least": 3},
        "parent": near,
        "children": [],
    }
    expected = """\
Verify, not accepted
Add up, Small change

  Not accepted: Nobody has confirmed it.
  Answer yes or no.
  Gap (warning, open): No owner.
  It adds up. (a.py:3): only that the place exists
  Answered by Ana: yes: fine
  Ran: make test, exit 0
Notes:
> Looked.
> Twice.
Handoff:
  - Status: done
Pending: Verify, 1 of about 3 steps done
Before: Plan: handrail session show ses_1 nod_1 --human
"""

    check_look("run.node", node, expected)


def test_two_nodes_are_told_by_where_they_part_and_what_each_did_since() -> None:
    def end(title: str, *gaps: str) -> dict[str, Any]:
        return {"title": title, "status": "complete_with_gaps", "pending_title": "", "open_gaps": list(gaps)}

    done = {"title": "Change", "notes": "Rounded once.", "is_cut": False}
    both = {
        "shared_steps": 1,
        "ancestor": "nod_1",
        "ancestor_title": "Plan",
        "rows_omitted": 2,
        "one": end("Change"),
        "other": end("Verify", "No owner."),
        "rows": [{"step_id": "change", "one": done, "other": None}],
    }
    expected = """\
They part after “Plan”, 1 step in common.

One:    Change
Status: complete with gaps

Other:     Verify
Status:    complete with gaps
Open gaps: No owner.

Change
  One:
  > Rounded once.
  Other: not done

2 more steps left out.
"""

    check_look("run.compare", both, expected)
