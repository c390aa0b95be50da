"""The question that a step puts to a person. Pure."""

from __future__ import annotations

from handrail.contract.outcome import Answer
from handrail.engine.reasons import AskKind


class OptionRow(Answer, frozen=True, kw_only=True):
    """An option that a person can take."""

    id: str
    label: str
    description: str = ""
    irreversible: bool = False
    """Whether it cannot be undone, so that an interface asks a second time."""
    recommended: bool = False
    """Whether the author recommends it."""


class Question(Answer, frozen=True, kw_only=True):
    """The question about the pending step; if there are options, the person takes one or none."""

    session_id: str
    run_id: str
    node_id: str
    step_id: str
    shown: str
    what_digest: str
    """Digest of what is shown. An answer applies to exactly this."""
    options: list[OptionRow]
    answer: str | None = None
    """The answer that a person already gave to exactly this; null if there is none or it does not count."""
    answer_id: str = ""
    """Id of the newest answer to this question. A new answer names it, and is rejected if another came in
    between.
    """
    asked: AskKind = "confirm"
    """What is asked for: `confirm`, `choose`, `give` or `allow_write`."""
    is_asked: bool = True
    """False if the step asks for no answer; an answer is then rejected."""
    takes_value: bool = False
    """Whether the answer is a value rather than yes or no, or an option."""
    question: str = ""
    others: str = ""
    """If there are accounts: who must answer instead of you; empty if you may answer."""
    writes: str = ""
    """A description of what Handrail writes if the person agrees."""
    diff: str = ""
    """The diff of that write."""
    closed: str = ""
    """Why the question can only be declined: a secret was found, and where. Empty if it can be approved."""
