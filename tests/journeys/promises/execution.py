"""What EXEC, the workflow execution contract, promises. The place of a row is a heading of EXEC."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES = (
    Promise(
        "start.first-step", "EXEC, `start_workflow`", "A start returns the first pending step and its tokens."
    ),
    Promise(
        "start.pins-the-workflow",
        "EXEC, Pinning policy (normative)",
        "A run keeps its workflow when the file changes.",
    ),
    Promise(
        "start.joins-a-session",
        "EXEC, Dashboard / Sessions (UX Projection)",
        "A run can join a session by its id or by any of its tokens.",
    ),
    Promise(
        "continue.advances",
        "EXEC, `continue_workflow`",
        "An ack moves the run to its next step, and to the end.",
    ),
    Promise(
        "continue.replay.same-bytes",
        "EXEC, `ackToken` (opaque completion acknowledgement)",
        "A repeated ack gets the recorded reply, writes nothing.",
    ),
    Promise(
        "continue.rehydrate.pure",
        "EXEC, `continue_workflow`",
        "A stateToken alone changes nothing and brings a recap.",
    ),
    Promise(
        "continue.fork",
        "EXEC, Resumption vs rewind behavior (normative)",
        "Advancing an older node forks by itself and tells what was there.",
    ),
    Promise(
        "continue.branches",
        "EXEC, Branching and “attempt acks” (normative)",
        "N fresh attempts at one node give N branches.",
    ),
    Promise(
        "context.limits",
        "EXEC, `context` (external inputs)",
        "Reserved keys and too much context are refused; nothing is stored.",
    ),
    Promise(
        "checkpoint.keeps-the-step",
        "EXEC, `checkpoint_workflow` (optional / experimental)",
        "A checkpoint keeps notes; the pending step stays.",
    ),
    Promise(
        "checkpoint.no-fork",
        "EXEC, `checkpoint_workflow` (optional / experimental)",
        "A checkpoint never turns a remembered ack into a fork.",
    ),
    Promise(
        "tokens.scope",
        "EXEC, `ackToken` (opaque completion acknowledgement)",
        "Tokens of different replies are refused together.",
    ),
    Promise(
        "resume.by-id",
        "EXEC, `resume_session` (optional / feature-flagged)",
        "A session or run id leads back to the pending step.",
    ),
    Promise(
        "resume.latest",
        "EXEC, `resume_session` (optional / feature-flagged)",
        "Without a query the latest sessions are offered.",
    ),
    Promise(
        "workflows.reserved",
        "EXEC, Workflow identity and namespaces (normative)",
        "A project cannot define or shadow wr.* workflows.",
    ),
    Promise(
        "blocked.retry",
        "EXEC, Enforcement on `continue_workflow`",
        "A blocked step needs one corrected call, not more.",
    ),
    Promise(
        "blocked.invalid",
        "EXEC, `blocked.blockers[]` schema (normative)",
        "What does not fit is named, with an example that does.",
    ),
    Promise(
        "blocked.replay",
        "EXEC, `ackToken` (opaque completion acknowledgement)",
        "A blocked reply is replayed byte for byte.",
    ),
    Promise(
        "gaps.never-stop",
        "EXEC, Full-auto execution (modes)",
        "Never-stop goes on and records a critical gap instead.",
    ),
    Promise(
        "user-only.answer",
        "EXEC, User-only dependencies (normative)",
        "What only the user can give waits for the user's answer.",
    ),
    Promise(
        "capabilities.required",
        "EXEC, Probing and degradation",
        "A required capability is probed before work.",
    ),
    Promise(
        "capabilities.preferred",
        "EXEC, Probing and degradation",
        "A missing preferred one is a warning only.",
    ),
    Promise(
        "divergence.told",
        "EXEC, Divergence markers (normative)",
        "Leaving the instructions on purpose is recorded, shown.",
    ),
    Promise(
        "preferences.node",
        "EXEC, Node-attached effective preferences",
        "The mode holds along the run and is told in replies.",
    ),
    Promise(
        "bundle.round-trip",
        "EXEC, Export/import bundles (resumable) (normative)",
        "An imported session tells the same story as its source.",
    ),
    Promise(
        "bundle.resumable",
        "EXEC, Export/import bundles (resumable) (normative)",
        "An imported session is found and finished with tokens of its new home.",
    ),
    Promise(
        "bundle.import-as-new",
        "EXEC, Integrity and conflicts (recommended behavior)",
        "Where the id is taken, or on request, a bundle becomes a new session; nothing is merged.",
    ),
    Promise(
        "bundle.tokens-stay",
        "EXEC, Export/import bundles (resumable) (normative)",
        "Tokens are not in a bundle, and those of the source do not act on a copy.",
    ),
)
