"""The rows of `handrail run …`."""

from __future__ import annotations

from handrail.surfaces.cli.commands.row import ARTIFACTS, NOTES, NOTES_FILE, STATE, Row, Spelling

RUN_ROWS = (
    Row(
        path="run start",
        operation="run.start",
        spellings=(
            Spelling(field="workflowId", position=1, kind="id", value="ID", text="The id of the workflow."),
            Spelling(field="goal", value="TEXT"),
            Spelling(
                field="context", kind="object", value="JSON", text="External facts the steps need, or @FILE."
            ),
            Spelling(
                field="requestId",
                kind="text",
                value="KEY",
                text="Your key for this start: letters, digits, `._:-`. A repeat returns the same run.",
            ),
            Spelling(field="session", kind="token", value="SESSION"),
            Spelling(field="preferences.autonomy", flag="--autonomy", text="How far to go without the user."),
            Spelling(field="preferences.riskPolicy", flag="--risk-policy", text="How much risk to take."),
        ),
        examples=(
            "handrail run start wr.code_review --goal 'Review the change' --request-id pr-118 --compact",
            'handrail run start wr.small_change --context \'{"scope":"src"}\' --request-id pr-119 --compact',
        ),
    ),
    Row(
        path="run continue",
        operation="run.continue",
        spellings=(
            Spelling(field="ackToken", flag="--ack", kind="token", value="TOKEN"),
            STATE,
            NOTES,
            NOTES_FILE,
            ARTIFACTS,
            Spelling(
                field="context",
                kind="object",
                value="JSON",
                text="Facts to set, or @FILE; null deletes a key.",
            ),
        ),
        examples=(
            "handrail run continue --ack ACK_TOKEN --notes 'Looked at every file.' --compact",
            "handrail run continue --state STATE_TOKEN --compact",
        ),
    ),
    Row(
        path="run checkpoint",
        operation="run.checkpoint",
        spellings=(
            Spelling(field="checkpointToken", flag="--checkpoint", kind="token", value="TOKEN"),
            STATE,
            NOTES,
            NOTES_FILE,
        ),
        examples=("handrail run checkpoint --checkpoint CHECKPOINT_TOKEN --notes 'Half way.' --compact",),
    ),
    Row(
        path="run confirm",
        operation="run.confirm",
        spellings=(
            STATE,
            Spelling(field="session", kind="id", value="ID"),
            Spelling(field="note", value="TEXT"),
        ),
        blast_radius="Appends one fact to one session: what the person answered.",
        examples=(
            "handrail run confirm --session SESSION_ID --human",
            "handrail run confirm --state STATE_TOKEN --note 'Seen in staging.' --compact",
        ),
    ),
    Row(
        path="run close",
        operation="run.close",
        spellings=(
            Spelling(field="run", position=1, kind="token", value="RUN"),
            STATE,
            Spelling(field="reason", text="Why nobody will continue it."),
            Spelling(field="note", value="TEXT"),
            Spelling(
                field="requestId",
                kind="text",
                value="KEY",
                text="Your key for this closing; a repeat does not close a run that was reopened since.",
            ),
        ),
        blast_radius="Appends one fact to one session; the run can be opened again by continuing it.",
        examples=(
            "handrail run close SESSION_ID --reason abandoned --compact",
            "handrail run close --state STATE_TOKEN --reason superseded --note 'Begun twice.' --compact",
        ),
    ),
)
