"""Finding the way: resume, closing a run, moved sessions (truth, sections 3 and 6)."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES: tuple[Promise, ...] = (
    Promise(
        "finding.mistyped-context",
        source="truth, R21",
        says="A context key that is nearly a declared one is named in a warning, at start and later.",
    ),
    Promise(
        "finding.this-project-first",
        source="truth, R17",
        says="Work of this project comes first; other work is marked with its project.",
    ),
    Promise(
        "finding.hooks-of-this-project",
        source="truth, R17",
        says="A hook speaks only of work of the project it runs in, with or without git.",
    ),
    Promise(
        "finding.nothing-matched",
        source="truth, R17",
        says="A query that matches nothing is told so before recent work is listed.",
    ),
    Promise(
        "finding.finished-is-not-going-on",
        source="truth, R17",
        says="Finished work stands behind unfinished work and is offered for reading, not to go on with.",
    ),
    Promise(
        "finding.project-of-a-step",
        source="truth, R17",
        says="A step that is read again names its project, and says so when the caller is in another.",
    ),
    Promise(
        "finding.branch-by-name",
        source="truth, R17",
        says="A branch is found in any case of letters, and its whole name beats its beginning.",
    ),
    Promise(
        "finding.lists-have-projects",
        source="truth, R17",
        says="Lists and summaries of sessions name the project, and no path of this machine.",
    ),
    Promise(
        "finding.words-cover-tags",
        source="truth, R33",
        says="Words find work by the tags of its workflow.",
    ),
    Promise(
        "finding.notes-for-people",
        source="truth, R33",
        says="In text mode a session shows its notes, and a checkpoint says whether it was saved.",
    ),
    Promise(
        "finding.close",
        source="truth, R19",
        says="A run can be closed with a reason; it leaves resume and hooks, and every reader says so.",
    ),
    Promise(
        "finding.close-opens-again",
        source="truth, R19",
        says="Closing consumes no token: continuing the run opens it again.",
    ),
    Promise(
        "finding.close-once",
        source="truth, R19",
        says="A repeated closing writes nothing and tells what was recorded.",
    ),
    Promise(
        "finding.close-one-of-several",
        source="truth, R19; CLI, section 9",
        says="A session with several open runs closes none; a repeat closes no other; open ones are told.",
    ),
    Promise(
        "finding.close-refusals",
        source="truth, R19",
        says="A finished run is not closed, and a closing that names no run is refused.",
    ),
    Promise(
        "finding.close-records",
        source="DESIGN, section 6",
        says="Closing appends one fact without a gate, is audited, and is no MCP tool.",
    ),
    Promise(
        "finding.close-mistaken-starts",
        source="truth, R19",
        says="A mistaken start is told how to close it, and once closed it is not brought up again.",
    ),
    Promise(
        "truth.request-project",
        "truth, R21",
        "A request id belongs to its project: the same id elsewhere is another run.",
    ),
    Promise(
        "truth.import-again",
        "truth, R33",
        "A bundle whose session moved on, and every import as new, makes a session of its own and says so.",
    ),
    Promise(
        "truth.presets",
        "truth, R33",
        "The presets Guided, Full auto with stops and Full auto exist by name, with their labels.",
    ),
    Promise(
        "truth.drift-by-meaning",
        "truth, R33",
        "A workflow file that changed is told by its meaning, contracts included, by a reread and by resume.",
    ),
    Promise(
        "truth.checkout-is-fine",
        "truth, R33",
        "`doctor` does not fail a checkout for a record that only a release has.",
    ),
    Promise(
        "truth.report-for-people",
        "truth, R33",
        "A report shows an artifact once, as people read it, and seconds where a run was that quick.",
    ),
    Promise(
        "truth.retry.whole-call",
        "truth, R3 and R16",
        "However much stands in the way, all of it is named, and the offered call is enough once filled in.",
    ),
    Promise(
        "truth.kept-is-kept",
        "truth, R3",
        "What is said not to be kept is no output of the run, in any mode, for any reader.",
    ),
    Promise(
        "truth.gap-ids",
        "truth, R33",
        "The reply to a report of gaps names the id of each that is to be settled.",
    ),
    Promise(
        "truth.text-as-whole",
        "truth, R14",
        "The text of a refusal says as much as its structure.",
    ),
    Promise(
        "truth.gap-names-its-artifact",
        "truth, R8",
        "The gap that a broken contract leaves names the artifact it is about.",
    ),
    Promise(
        "finding.close-one-of-copies",
        "truth, R19",
        "A run id that several sessions have closes none of them, and they are named.",
    ),
    Promise(
        "finding.unfinished-is-seen",
        "truth, R17",
        "A session is not called finished while one of its runs is under way.",
    ),
    Promise(
        "finding.people-see-it",
        "truth, R11 and R17",
        "Lists and summaries for people show project, damage, origin and divergences, and offer what fits.",
    ),
    Promise(
        "finding.branch-among-equals",
        "EXEC, observations",
        "Without a question, work of the branch that is checked out comes first among work at one commit.",
    ),
    Promise(
        "finding.short-commit",
        "truth, R17",
        "A commit is found by as much of its id as git shows.",
    ),
    Promise(
        "finding.drift-in-text",
        "truth, R33",
        "Resume says in its text, too, that the file of a run changed.",
    ),
    Promise(
        "finding.runs-are-counted",
        "truth, R17",
        "Resume counts runs as runs and sessions as sessions, and lists hold no source text.",
    ),
    Promise(
        "finding.cut-in-text",
        "truth, R15 and R17",
        "Resume says in its text, too, that more work may match than it shows.",
    ),
    Promise(
        "finding.same-state-same-bytes",
        "EXEC, bundles",
        "Exports of one state of a session are the same bytes, whenever they are made.",
    ),
    Promise(
        "finding.one-suggestion-per-file",
        "EXEC, legacy ids",
        "No two workflow files are told to take the same id.",
    ),
    Promise(
        "finding.offered-calls-work",
        "truth, R16",
        "A corrected call or a preview that is given works as it stands; where nobody can tell, none is.",
    ),
)
