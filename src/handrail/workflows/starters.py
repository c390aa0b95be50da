"""New workflow files to start from: small, complete, and free of linter findings. Pure."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from handrail.workflows.spellings.spelling import decode_spelled

Starter: TypeAlias = Literal["blank", "linear", "review", "loop", "choice"]


def starter_document(starter: Starter, workflow_id: str) -> dict[str, Any]:
    """A workflow with this id."""
    name = workflow_id.rpartition(".")[2].replace("_", " ").replace("-", " ").strip().capitalize()
    body: dict[str, Any] = decode_spelled(_STARTERS[starter].encode(), "yaml").document
    return {"id": workflow_id, "name": name, "version": "0.1.0", **body}


_TASK = """
inputs:
  task: {type: string, required: true, description: "What is to be done, in one or two sentences."}
"""
_PLAN = """
  - id: plan
    title: Plan the work
    promptBlocks:
      goal: There is a plan for {{task}} that someone else could carry out.
      procedure:
        - Read the files that the task touches.
        - Write down the changes in order, each with the file it is made in and how you will check it.
      verify: [Every step of the plan names a file and a check.]
    output: {contractRef: wr.contracts.plan}
"""
_DO = """
  - id: do
    title: Do the work
    promptBlocks:
      goal: The plan is carried out.
      procedure: [Follow the plan in its order., Run the check of each step before the next one.]
      verify: [Every file that changed is listed in the artifact.]
    output: {contractRef: wr.contracts.changed_files}
"""
_VERIFY = """
  - id: verify
    title: Verify the result
    promptBlocks:
      goal: It is shown, not claimed, that {{task}} is done.
      procedure: [Run the checks again from a clean state., Quote what each command printed.]
      verify: [Every claim has a command or a file with a line as its evidence.]
    output: {contractRef: wr.contracts.verification_report}
"""

_BLANK = """
description: One step; write what it is for here.
steps:
  - id: work
    title: Do the work
    prompt: Say what is to be done, how, and what the notes must show at the end.
"""
_REVIEW = """
description: Look at a change, report findings with evidence, and let a person decide.
inputs:
  scope:
    type: string
    required: true
    description: "What to review: a directory, a branch or a list of files."
steps:
  - id: review
    title: Review the change
    promptBlocks:
      goal: Every finding about {{scope}} is written down with its place.
      procedure:
        - Read every changed file in full.
        - For each finding name the file, the line, what goes wrong and how to see it.
      verify: [Each finding can be checked by someone who has only the report.]
    output: {contractRef: wr.contracts.review_findings}
  - id: report
    title: Report the result
    prompt: Tell the user the findings, the heaviest first, and ask whether it may go in.
    requireConfirmation: true
"""
_LOOP = (
    f"description: Work in small rounds until a check passes, at most five times.{_TASK}"
    + """
conditions:
  - {id: keep_going, kind: loop_control, continueWhen: continue}
steps:
  - type: loop
    loopId: rounds
    while: {kind: condition_ref, conditionId: keep_going}
    maxIterations: 5
    body:
      - id: change
        title: Make one change
        prompt: Make the smallest change that brings {{task}} closer, and run its check.
      - id: decide
        title: Decide on another round
        prompt: Decide stop when the check passes, otherwise continue; quote its output.
        output: {contractRef: wr.contracts.loop_control}
"""
)
_CHOICE = (
    f"description: Look into two ways, let the user choose, and go the chosen one.{_TASK}"
    + """
  way:
    type: string
    enum: [small, thorough]
    description: Which way is taken; the choice sets it.
conditions:
  - {id: is_thorough, kind: compare, input: way, op: equals, value: thorough}
steps:
  - id: options
    title: Compare two ways
    prompt: "For {{task}}, describe a small and a thorough way: files, risks, checks."
  - type: choice
    id: way_choice
    title: Which way
    prompt: Show the user both ways and take the one they choose.
    options:
      - {id: small, label: Small, description: The least change., set: {way: small}}
      - id: thorough
        label: Thorough
        description: The change with everything around it.
        set: {way: thorough}
    nonAssumable: preference_tradeoff
"""
)

_STARTERS: dict[Starter, str] = {
    "blank": _BLANK,
    "linear": f'description: "Plan, do, verify: one step after the other."{_TASK}steps:{_PLAN}{_DO}{_VERIFY}',
    "review": _REVIEW,
    "loop": _LOOP + _VERIFY,
    "choice": f"{_CHOICE}{_PLAN}    when: is_thorough{_DO}{_VERIFY}",
}
