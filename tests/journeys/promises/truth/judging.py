"""What the rules promise of what counts: artifacts, observations, decisions, retries (truth, section 1)."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES: tuple[Promise, ...] = (
    Promise(
        "truth.counts.full-kind",
        "truth, R1",
        "An artifact counts for a contract under its full kind and by a recorded validation, or not at all; "
        "a kind that is nearly one we know is named with the right one, however many came.",
    ),
    Promise(
        "truth.counts.exec-names",
        "truth, R1",
        "The names that EXEC itself gives, workflow_divergence and gap, are taken as the real thing.",
    ),
    Promise(
        "truth.counts.own-object",
        "truth, R2",
        "A requirement is met by its own object: this loop, that capability, the assessment with its id.",
    ),
    Promise(
        "truth.counts.no-empty-answer",
        "truth, R16",
        "Where something is required of the user or the agent, blank text, text of invisible characters "
        "alone, an empty list or object, and a placeholder of our own are no answer, at the start and later.",
    ),
    Promise(
        "truth.counts.option-sets",
        "truth, R1",
        "A value that contradicts what the chosen option sets is refused, not dropped.",
    ),
    Promise(
        "truth.counts.capability-cured",
        "execution, Capabilities; truth, R16",
        "A run that lacks a capability says what must change and frames the observation that goes on; one "
        "that the capability works settles the gap about it.",
    ),
    Promise(
        "truth.counts.capability-lost",
        "truth, R2",
        "A required capability that is found missing later blocks, or becomes a gap, wherever that is told.",
    ),
    Promise(
        "truth.retry.good-only",
        "truth, R3",
        "A retry takes over what was good and never what was wrong; one corrected call is enough.",
    ),
    Promise(
        "truth.retry.all-faults",
        "truth, R14",
        "A blocked reply lists every fault, ten in full, and a retry replaces what it sends again.",
    ),
    Promise(
        "truth.facts.every-call",
        "truth, R4",
        "A gap, an observation or a divergence counts the same, whichever call brings it.",
    ),
    Promise(
        "truth.facts.refused-call",
        "truth, R4",
        "A gap, an observation or a divergence of an attempt that is blocked counts at once, and is recorded "
        "once, whatever follows.",
    ),
    Promise(
        "truth.facts.known-gaps",
        "truth, R33",
        "Only a gap that was recorded on the branch can be resolved.",
    ),
    Promise(
        "truth.preferences.next-call",
        "truth, R5",
        "Changed preferences apply at the next call that creates a node, a retry included.",
    ),
    Promise(
        "truth.preferences.going-back",
        "EXEC, Preferences; truth, R5",
        "A change reaches the places where work stood when it was made; an older step is told and judged in "
        "its own, and what is told is what its report meets.",
    ),
    Promise(
        "truth.facts.checkpoint-counts",
        "truth, R4",
        "What a checkpoint saved for a step answers the step like a report, and counts once.",
    ),
    Promise(
        "truth.confirmations.late",
        "truth, R6",
        "A confirmation that only the report makes necessary is asked for then, or disclosed; validate names "
        "a first step that reads what nobody can have sent.",
    ),
    Promise(
        "truth.prompts.loop-named",
        "truth, R9",
        "A prompt calls the loop id optional only where leaving it out is accepted.",
    ),
    Promise(
        "truth.frames.inner-names",
        "truth, R9, R16",
        "The required members of an artifact's members are named before their lack can block: in the "
        "example or in the frame of the next call, within the cost of a frame.",
    ),
    Promise(
        "truth.prompts.not-given",
        "truth, R6, R31",
        "A prompt says of a value that nobody gave that it was not given, wherever it stands; no raw "
        "placeholder is shown, but in code that is about something else.",
    ),
    Promise(
        "truth.context.merged-limit",
        "execution, Context",
        "The context of a branch is bounded, whatever its single calls bring.",
    ),
    Promise(
        "truth.endings.contradicted",
        "truth, R13",
        "A verdict that the rows of its own report contradict does not pass.",
    ),
    Promise(
        "truth.counts.own-rows",
        "truth, R1",
        "What an artifact names among its own rows is one of them: the option that a decision chose, the "
        "slices that a slice of a plan depends on.",
    ),
    Promise(
        "truth.endings.verification",
        "truth, R13",
        "A run whose last verification failed does not end as plain complete; one that "
        "passes later settles it.",
    ),
    Promise(
        "truth.notes.required",
        "truth, R9",
        "Notes that a step calls required are required.",
    ),
    Promise(
        "truth.warnings.fields",
        "truth, R33",
        "A warning carries the ids and values that it speaks of as fields.",
    ),
    Promise(
        "truth.drift-names-its-file",
        "truth, R33",
        "The warning that a run was started from something else names the file that changed, be it the "
        "workflow's, a contract's or a routine's.",
    ),
    Promise(
        "truth.loops.counted-by-a-value",
        "truth, R6, R7",
        "A loop that runs as often as a value says tells its own rounds, skips nothing falsely, and asks for "
        "the value.",
    ),
    Promise(
        "truth.gone.nothing-made",
        "truth, R33; hardening, H4",
        "A call for a session that is not there, or not there any more, is refused as such, and nothing of "
        "it is made again.",
    ),
)
