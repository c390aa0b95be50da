"""The rows of `handrail check …` and `handrail receipt …`."""

from __future__ import annotations

from handrail.surfaces.cli.commands.row import STATE, Row, Spelling

RECEIPT = Spelling(
    field="receipt", position=1, kind="document", value="FILE", text="The receipt; `-` is stdin."
)

CHECK_ROWS = (
    Row(
        path="check run",
        operation="check.run",
        spellings=(
            Spelling(field="name", position=1, kind="id", value="NAME", text="A check of the project."),
            Spelling(
                field="argv",
                position=2,
                kind="words",
                value="-- COMMAND",
                text="Or a program and its arguments, after `--`; no shell reads them.",
            ),
            STATE,
            Spelling(field="session", kind="id", value="ID", text="Or a session id, for its open run."),
            Spelling(field="directory", value="DIR"),
            Spelling(
                field="timeLimit",
                value="SECONDS",
                text="When the program is ended, 600 by default; `--timeout` does not end it.",
            ),
            Spelling(field="passStatus", text="Exit with the program's status instead of 0."),
        ),
        examples=(
            "handrail check run tests --session SESSION_ID --quiet --compact",
            "handrail check run --state STATE_TOKEN --quiet --pass-status -- git --version",
        ),
    ),
    Row(
        path="check list",
        operation="check.list",
        columns=("name", "line", "timeoutSeconds", "isApproved", "description"),
        examples=("handrail check list --compact",),
    ),
    Row(
        path="check approve",
        operation="check.approve",
        spellings=(
            Spelling(
                field="name",
                position=1,
                kind="id",
                value="NAME",
                text="A check of the project; else every one that it declares.",
            ),
            Spelling(field="withdraw", text="Take the approval back; asks nobody."),
        ),
        takes_rest=False,
        examples=("handrail check approve tests --withdraw --compact",),
    ),
    Row(
        path="check replay",
        operation="check.replay",
        spellings=(RECEIPT,),
        examples=("handrail check replay receipt.json --compact",),
    ),
)

RECEIPT_ROWS = (
    Row(
        path="receipt export",
        operation="receipt.export",
        spellings=(
            Spelling(field="session", kind="id", value="ID"),
            Spelling(field="commit", kind="id", value="REF"),
        ),
        raw="content",
        out="content",
        examples=(
            "handrail receipt export --session SESSION_ID --out made.json --compact",
            "handrail receipt export --session SESSION_ID --as markdown --format raw",
        ),
    ),
    Row(
        path="receipt verify",
        operation="receipt.verify",
        spellings=(
            RECEIPT,
            Spelling(field="commit", kind="id", value="REF"),
            Spelling(field="key", value="PUB"),
        ),
        examples=("handrail receipt verify receipt.json --commit HEAD --compact",),
    ),
    Row(
        path="receipt key",
        operation="receipt.key",
        spellings=(Spelling(field="trust", value="PUB"),),
        blast_radius="The keys of receipts in the home: which one signs, and whose are trusted.",
        examples=("handrail receipt key --compact",),
    ),
)
