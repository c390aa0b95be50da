"""What the rules promise about work that is handed out."""

from __future__ import annotations

from tests.journeys.promises.promise import read_table

PROMISES = read_table(
    """
    delegation, section 1
      delegation.opened-once: Arriving at a step opens its children in the same commit; no repeat opens one
          again.
      delegation.attenuated: A token of a child reads, reports, saves and checks inside it, and opens
          nothing else.
      delegation.pinned: Children are compiled with their parent, at most 16 a step, 64 a run and 3 levels
          deep; a workflow without them keeps its hash.
      delegation.worker: A client that knows subagents gets a worker definition with setup, and loses it
          with Handrail.
    delegation, section 2
      delegation.waits: A step whose need is not met offers no ack; one that is sent anyway is STEP_WAITS,
          uses nothing up, and names the children.
      delegation.join: A met need lets the step go on like any other, with what each child delivered.
      delegation.edges: No child passes, fewer than all may do, and more than sixteen items block or become
          a gap.
      delegation.closed: A closed child leaves a choice: again, without it, or stop.
      delegation.rewind: A rewind makes new children and offers earlier results of the same work; a fork
          inside a child forks it alone.
      delegation.found-again: A new chat finds a waiting run with its children, what they delivered, and the
          work tokens that are still open.
      delegation.gaps: Open gaps of a child are handed up with its name.
      delegation.alone: An agent without helpers takes the children one after the other, as each reply says.
      delegation.whose-status: The status, the title and the resume entry of a session are those of its
          newest run without a parent.
    delegation, section 6
      delegation.brief: A brief has 60 tokens at most, and those of a step 1 000.
    delegation, section 3
      delegation.files: What changed while another run of the session was open is shown, demanded of nobody,
          and makes nothing stale; a file that two list is told.
      delegation.own-directory: A child works in its parent's directory or in another worktree of the
          repository, by its first call that writes; a call from outside means the child that is named, or
          alone there.
    delegation, section 4
      delegation.seen: The graph of a run has its children beside their step, and the Console draws a lane
          for each; lists count the parts that are done, report and receipt tell what each child could
          prove.
      delegation.travels: What a child ran travels in a bundle and is told there as another store's; no
          receipt of the new store states it.
      delegation.named: A helper may name itself; the name is kept once, as its own word, and shown with its
          work.
    delegation, section 5
      delegation.costs-nothing: A reply without children has no word and no key more than it would have
          without delegation.
    """
)
