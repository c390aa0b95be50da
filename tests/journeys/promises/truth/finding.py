"""Finding the way: resume, closing a run, moved sessions (truth, sections 3 and 6)."""

from __future__ import annotations

from tests.journeys.promises.promise import read_table

PROMISES = read_table(
    """
    truth, R21
      finding.mistyped-context: A context key that is nearly a declared one is named in a warning, at start
          and later.
      truth.request-project: A request id belongs to its project: the same id elsewhere is another run.
    truth, R17
      finding.this-project-first: Work of this project comes first; other work is marked with its project.
      finding.hooks-of-this-project: A hook speaks only of work of the project it runs in, with or without
          git.
      finding.nothing-matched: A query that matches nothing is told so before recent work is listed.
      finding.finished-is-not-going-on: Finished work stands behind unfinished work and is offered for
          reading, not to go on with.
      finding.project-of-a-step: A step that is read again names its project, and says so when the caller is
          in another.
      finding.branch-by-name: A branch is found in any case of letters, and its whole name beats its
          beginning.
      finding.lists-have-projects: Lists and summaries of sessions name the project, and no path of this
          machine.
      finding.unfinished-is-seen: A session is not called finished while one of its runs is under way.
      finding.short-commit: A commit is found by as much of its id as git shows.
      finding.runs-are-counted: Resume counts runs as runs and sessions as sessions, and lists hold no
          source text.
    truth, R33
      finding.words-cover-tags: Words find work by the tags of its workflow.
      finding.notes-for-people: In text mode a session shows its notes, and a checkpoint says whether it was
          saved.
      truth.import-again: A bundle whose session moved on, and every import as new, makes a session of its
          own and says so.
      truth.presets: The presets Guided, Full auto with stops and Full auto exist by name, with their
          labels.
      truth.drift-by-meaning: A workflow file that changed is told by its meaning, contracts included, by a
          reread and by resume.
      truth.checkout-is-fine: `doctor` does not fail a checkout for a record that only a release has.
      truth.report-for-people: A report shows an artifact once, as people read it, and seconds where a run
          was that quick.
      truth.gap-ids: The reply to a report of gaps names the id of each that is to be settled.
      finding.drift-in-text: Resume says in its text, too, that the file of a run changed.
    truth, R19
      finding.close: A run can be closed with a reason; it leaves resume and hooks, and every reader says
          so.
      finding.close-opens-again: Closing consumes no token: continuing the run opens it again.
      finding.close-once: A repeated closing writes nothing and tells what was recorded.
      finding.close-refusals: A finished run is not closed, and a closing that names no run is refused.
      finding.close-mistaken-starts: A mistaken start is told how to close it, and once closed it is not
          brought up again.
      finding.close-one-of-copies: A run id that several sessions have closes none of them, and they are
          named.
    truth, R19; CLI, section 9
      finding.close-one-of-several: A session with several open runs closes none; a repeat closes no other;
          open ones are told.
    DESIGN, section 6
      finding.close-records: Closing appends one fact without a gate, is audited, and is no MCP tool.
    truth, R3 and R16
      truth.retry.whole-call: However much stands in the way, all of it is named, and the offered call is
          enough once filled in.
    truth, R3
      truth.kept-is-kept: What is said not to be kept is no output of the run, in any mode, for any reader.
    truth, R14
      truth.text-as-whole: The text of a refusal says as much as its structure.
    truth, R8
      truth.gap-names-its-artifact: The gap that a broken contract leaves names the artifact it is about.
    truth, R11 and R17
      finding.people-see-it: Lists and summaries for people show project, damage, origin and divergences,
          and offer what fits.
    EXEC, observations
      finding.branch-among-equals: Without a question, work of the branch that is checked out comes first
          among work at one commit.
    truth, R15 and R17
      finding.cut-in-text: Resume says in its text, too, that more work may match than it shows.
    agent-experience, section 2
      finding.requests: A request in any language finds its session by the words that hit, the rarest first.
      finding.branches: Words, a run and a node lead to the branch that has them, also to one that was left.
      finding.paged: Pages of candidates joined are all that match.
    EXEC, bundles
      finding.same-state-same-bytes: Exports of one state of a session are the same bytes, whenever they are
          made.
    EXEC, legacy ids
      finding.one-suggestion-per-file: No two workflow files are told to take the same id.
    truth, R16
      finding.offered-calls-work: A corrected call or a preview that is given works as it stands; where
          nobody can tell, none is.
    """
)
