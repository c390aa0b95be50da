"""The promises to users, as data; compared with the journeys in both directions by tests/house."""

from __future__ import annotations

from typing import NamedTuple


class Promise(NamedTuple):
    """One behaviour users rely on: where it was promised, and what it says."""

    id: str
    source: str
    says: str


PROMISES = (
    Promise(
        "start.first-step", "EXEC, start_workflow", "A start returns the first pending step and its tokens."
    ),
    Promise(
        "start.pins-the-workflow", "EXEC, pinning policy", "A run keeps its workflow when the file changes."
    ),
    Promise("start.request-id", "CLI 9", "A repeated request id returns the same run and starts nothing."),
    Promise(
        "start.joins-a-session",
        "EXEC, sessions",
        "A run can join a session by its id or by any of its tokens.",
    ),
    Promise(
        "continue.advances",
        "EXEC, continue_workflow",
        "An ack moves the run to its next step, and to the end.",
    ),
    Promise(
        "continue.replay.same-bytes",
        "EXEC, ackToken",
        "A repeated ack gets the recorded reply, writes nothing.",
    ),
    Promise(
        "continue.replay.other-input",
        "DESIGN D9",
        "Other content with a used ack is not stored, and that is said.",
    ),
    Promise(
        "continue.rehydrate.pure", "EXEC, rehydrate", "A stateToken alone changes nothing and brings a recap."
    ),
    Promise(
        "continue.fork", "EXEC, rewind", "Advancing an older node forks by itself and tells what was there."
    ),
    Promise("continue.branches", "EXEC, attempt acks", "N fresh attempts at one node give N branches."),
    Promise("context.lineage", "DESIGN 9", "Context follows lineage: a fork never sees its sibling's."),
    Promise(
        "context.limits",
        "EXEC, context",
        "Reserved keys and too much context are refused; nothing is stored.",
    ),
    Promise(
        "notes.kept-whole", "DESIGN 9", "Notes up to 64 KB are kept whole; recaps show a part and say so."
    ),
    Promise(
        "checkpoint.keeps-the-step", "EXEC, checkpoint", "A checkpoint keeps notes; the pending step stays."
    ),
    Promise(
        "checkpoint.no-fork", "EXEC, checkpoint", "A checkpoint never turns a remembered ack into a fork."
    ),
    Promise("tokens.scope", "EXEC, scoped", "Tokens of different replies are refused together."),
    Promise("tokens.repair", "DESIGN D7", "One wrong character is repaired and reported, two are refused."),
    Promise("tokens.glued", "tokens", "A state and an ack pasted together are told apart."),
    Promise(
        "tokens.wrong-field", "mcp-and-http 1.1", "A token in the wrong field is refused, never guessed."
    ),
    Promise("tokens.lost-history", "DESIGN D8", "A token proves that acknowledged history was cut off."),
    Promise(
        "tokens.rotation", "tokens, keyring", "Tokens of the previous key work, those of an older one do not."
    ),
    Promise(
        "input.all-problems", "CLI 4", "Every problem of a call is reported at once, with the repaired call."
    ),
    Promise(
        "input.nothing-stored",
        "mcp-and-http 1.1",
        "Output without an ack is refused with the call that stores it.",
    ),
    Promise("resume.by-id", "EXEC, resume_session", "A session or run id leads back to the pending step."),
    Promise("resume.latest", "EXEC, resume_session", "Without a query the latest sessions are offered."),
    Promise(
        "workflows.broken-file", "workflows", "One broken file is listed with its problems and hides nothing."
    ),
    Promise("workflows.reserved", "EXEC, namespaces", "A project cannot define or shadow wr.* workflows."),
    Promise("sessions.paging", "CLI 8", "Pages of one joined are the whole list."),
    Promise("ledger.version", "LAFS 8", "The ledger moves by one per accepted call and by none per read."),
    Promise("blocked.retry", "EXEC, output contracts", "A blocked step needs one corrected call, not more."),
    Promise("blocked.invalid", "EXEC, blockers", "What does not fit is named, with an example that does."),
    Promise("blocked.replay", "EXEC, ackToken", "A blocked reply is replayed byte for byte."),
    Promise("blocked.nodes", "execution, blocked", "N blocked attempts are N nodes and never a fork."),
    Promise("gaps.never-stop", "EXEC, full-auto", "Never-stop goes on and records a critical gap instead."),
    Promise("gaps.resolved", "execution, reasons", "A later gap settles an earlier one by link."),
    Promise(
        "user-only.answer", "EXEC, user-only", "What only the user can give waits for the user's answer."
    ),
    Promise("gates.followup", "workflows", "An assessment level that needs a follow-up blocks until then."),
    Promise("capabilities.required", "EXEC, capabilities", "A required capability is probed before work."),
    Promise("capabilities.preferred", "EXEC, capabilities", "A missing preferred one is a warning only."),
    Promise("divergence.told", "EXEC, divergence", "Leaving the instructions on purpose is recorded, shown."),
    Promise("artifacts.limits", "execution, outputs", "Artifacts over a limit are refused whole."),
    Promise("artifacts.recap", "execution, outputs", "Current artifacts come back after a loss of context."),
    Promise("inputs.checked", "DESIGN D12", "Every problem of the inputs at once, with a call that fits."),
    Promise("conditions.branch", "DESIGN D13", "Inputs and validated artifacts decide the way; it is told."),
    Promise("choices.tokens", "DESIGN 9", "A choice has a token per option, and an option sets context."),
    Promise("choices.replay", "tokens", "Only the first choice counts; its reply is replayed."),
    Promise("choices.user", "execution, reasons", "A choice that is the user's is never made in silence."),
    Promise("loops.decided", "DESIGN 9", "A loop goes on as its last step decided, and only then."),
    Promise("loops.attributable", "execution, loops", "Every loop exit has a reason that is shown."),
    Promise("prompts.filled", "workflows", "Prompts hold the values of the case and of the iteration."),
    Promise("prompts.recovered", "execution, recap", "Functions and references come again after a loss."),
    Promise("preferences.node", "EXEC, preferences", "The mode holds along the run and is told in replies."),
)
