"""What is promised to the people at the Console, and to the commands that have the same."""

from __future__ import annotations

from tests.journeys.promises.promise import read_table

PROMISES = read_table(
    """
    mcp-and-http, section 5
      console.gaps: The gaps of all sessions are in one list: open, settled or noted, counted, the worst
          first.
      console.save: An edited workflow is previewed, checked and saved in the project, over nothing unseen.
      console.drift: A run keeps the workflow it began with, and lists tell where the files differ from it
          now.
      console.settings: Every setting tells what is asked for, what is in force, from where, and who must
          start again.
      console.import: A bundle that is dropped is checked and shown; nothing is written before a person
          confirms.
      console.close: A run can be closed from its page, with a reason, by the operation that the command
          line has.
      console.read.graph: A run is told with the way that it took, its forks, what was skipped and what is
          ahead.
      console.read.node: A node tells its report, why it was refused, its worth and what is asked there; no
          token.
      console.read.compare: Two nodes are told from where their ways part, step beside step.
      console.read.needs: What waits for a person is in one list, each with the words to paste and without a
          token.
      console.read.search: Words in notes and artifacts lead to their nodes, with the place in words that
          people read.
      console.read.timeline: What happened in a session is told in order, with a lane for each run.
      console.told.person: What a person answered stands at the report that it is about, and at no other
          node.
      console.told.ahead: The steps ahead are those of the preferred branch, whatever other branches
          reached.
      console.told.rail: A step that was passed by stands after the step that was done before it.
      console.told.import: Every level and count of an imported session says that another store recorded it.
      console.told.preferences: The preferences of a session are those in force, with who set them; a
          preview begins there.
    """
)
