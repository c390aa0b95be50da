"""What a person is asked at a step. Pure."""

from __future__ import annotations

from handrail.contract.outcome import Answer
from handrail.engine.reasons import AskKind


class OptionRow(Answer, frozen=True, kw_only=True):
    """An option that a person can take."""

    id: str
    label: str
    description: str = ""
    irreversible: bool = False
    """It cannot be undone: ask a second time."""
    recommended: bool = False
    """The author advises it."""


class Question(Answer, frozen=True, kw_only=True):
    """What a person is asked about the pending step; with options, they take one or none."""

    session_id: str
    run_id: str
    node_id: str
    step_id: str
    shown: str
    what_digest: str
    """Of what is shown: an answer is to this, and to nothing else."""
    options: list[OptionRow]
    answer: str | None = None
    """What a person answered to exactly this before; null where nobody did, or it does not count."""
    answer_id: str = ""
    """The newest answer to this question. Yours is based on it, and is refused if another came since."""
    asked: AskKind = "confirm"
    """`confirm`, `choose`, `give` or `allow_write`."""
    is_asked: bool = True
    """False: the step asks nobody, and an answer is refused."""
    takes_value: bool = False
    """The answer is a value; else yes or no, or an option."""
    question: str = ""
    others: str = ""
    """Who answers it instead of you, where there are accounts; empty: you may."""
    writes: str = ""
    """What a yes lets Handrail write, in words."""
    diff: str = ""
    """The lines that it changes."""
    closed: str = ""
    """Why this can only be declined: a secret was found, and where; empty: it can be approved."""
