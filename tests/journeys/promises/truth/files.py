"""What the rules promise of workflow and contract files (truth, section 5)."""

from __future__ import annotations

from tests.journeys.promises.promise import read_table

PROMISES = read_table(
    """
    truth, R31
      truth.files.names-are-given: In a native file every name that a condition, loop, placeholder or user
          input reads is one that something gives; else validate, list and start refuse it with the same
          problem at its place.
      truth.files.values-fit: What a choice sets and a condition compares with is a value that the input may
          have.
      truth.files.way-through: Artifacts that are read before a step delivers them, gates that no level
          passes and operations that do not exist are errors before anyone runs the workflow.
      truth.files.foreign-meaning: A file from elsewhere compares as its author meant, in any case; what
          nothing declares is a warning there, and nothing that ran is refused.
      truth.files.contracts: A contract file is held against what a contract must be by validate, list and
          doctor, with the place in the contract's own file.
      truth.files.same-folder: Validate and list read a folder alike, with what is below it, and judge an id
          alike.
      truth.files.set-names: A value that is set under a misspelt name is told where it is set; one that is
          set for the record alone is left alone.
      truth.files.parameters: A parameter or a value that an operation, a template or a routine does not
          take is told before anyone is asked to send it, and so is one that is missing.
      truth.files.members: No condition, loop or text reads a member of what has none, or an item of a list.
      truth.files.counts: A list that is counted by another value is a list without a default, and that
          value is a number.
      truth.files.rendered: Every text that a run shows is looked through for placeholders that nothing
          fills, those of other languages included; braces that name nothing are text.
      truth.files.patterns: A pattern between slashes is told how it is written here, and slashes of a path
          mean themselves.
      truth.files.asked-in-time: A condition that is looked at before any step can ask for its value is
          told, unless the value must be there or may be missing.
      truth.files.looked-for: A workflow or contract under a name that nobody looks for is named by
          validate, list and doctor, with the name to give it.
      truth.files.same-verdict: What validate and start refuse is listed with the same problems, and doctor
          counts it as broken.
      truth.files.misplaced: A contract among workflows is told where it belongs and judged as one, a
          doubled id is an error for everyone, and a contract file that cannot be read is named where it is
          needed.
    truth, R32
      truth.fixes.literal: A fix is safe when a program applies it: the file then validates and means what
          was meant.
      truth.fixes.same-word: An edit writes only what is certainly the same word; what turns a meaning is
          neither written nor asked about.
      truth.fixes.compose: The edits of one answer can be applied in order, and none of them leaves a new
          error; where none is certain, the words say what to write.
      truth.fixes.json: A trailing comma, a comment, other quotes, other literals and YAML are told apart.
      truth.simulation.limits: The simulator calls a step dead only where that is certain; what its limits
          left out is named as untried.
    truth, R31, R9
      truth.files.examples-fit: An example that a prompt shows is accepted when it is sent, or none is
          shown; a pattern is told before it blocks, and the simulator names what it could not make up.
    truth, R33
      truth.inspect.words: Inspect shows a condition by its author's id or in words, never by an id that the
          compiler made.
    """
)
