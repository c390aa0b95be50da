"""How far agents may go on their own: presets, values, and the preferences in force. Pure."""

from __future__ import annotations

from typing import Literal

from handrail.contract.ids import Autonomy, PresetName, RiskPolicy
from handrail.contract.outcome import Answer
from handrail.engine.facts import PRESETS


class Preset(Answer, frozen=True, kw_only=True):
    """A named combination of preferences."""

    id: PresetName
    label: str
    text: str
    autonomy: Autonomy
    risk_policy: RiskPolicy


class Choice(Answer, frozen=True, kw_only=True):
    """A value of a preference, described for people."""

    id: str
    label: str
    text: str


class Choices(Answer, frozen=True, kw_only=True):
    """Every value of each preference, the most cautious first."""

    autonomy: tuple[Choice, ...]
    risk_policy: tuple[Choice, ...]


_WORDS: dict[PresetName, tuple[str, str]] = {
    "guided": ("Guided", "The agent waits for you where a step asks for a person, and takes no risks."),
    "full_auto_with_stops": (
        "Full auto with stops",
        "The agent goes on alone, and stops only for what nobody but you can give.",
    ),
    "full_auto": ("Full auto", "The agent never stops: what is missing becomes a gap that you see later."),
}


PRESET_ROWS = tuple(
    Preset(id=name, label=label, text=text, autonomy=held.autonomy, risk_policy=held.risk_policy)
    for name, held in PRESETS.items()
    for label, text in (_WORDS[name],)
)


CHOICES = Choices(
    autonomy=(
        Choice(id="guided", label="Guided", text="Confirmations wait for you; what is missing blocks."),
        Choice(
            id="full_auto_stop_on_user_deps",
            label="Full auto, stops for you",
            text="Confirmations are not asked for; what only you can give blocks.",
        ),
        Choice(
            id="full_auto_never_stop",
            label="Full auto, never stops",
            text="Nothing blocks; what is missing is recorded as a critical gap.",
        ),
    ),
    risk_policy=(
        Choice(id="conservative", label="Conservative", text="A workflow asks you before it writes files."),
        Choice(
            id="balanced",
            label="Balanced",
            text="A workflow writes files unasked; you can undo it.",
        ),
        Choice(
            id="aggressive",
            label="Aggressive",
            text="The same, and the agent takes the direct way and notes what it left unchecked.",
        ),
    ),
)


class HeldPreferences(Answer, frozen=True, kw_only=True):
    """A value for each of the two preferences."""

    autonomy: Autonomy
    risk_policy: RiskPolicy


class ShownPreferences(Answer, frozen=True, kw_only=True):
    """The preferences in one scope, and who chose them."""

    scope: Literal["global", "session"]
    session_id: str | None
    run_id: str | None
    """The run in which they are in force, if the session has a run; otherwise null."""
    autonomy: Autonomy
    risk_policy: RiskPolicy
    source: Literal["user", "run", "default"]
    """Who chose them: `user` here, the start of the `run`, or `default` if they were not chosen."""
    new_runs: HeldPreferences
    """The preferences of a new run that does not set its own."""
    takes_effect: str
    preset: PresetName | None
    """The name of this combination; null if it has none."""
    presets: tuple[Preset, ...] = PRESET_ROWS
    choices: Choices = CHOICES
