"""Asking the person at the terminal: a line that an agent runs has nobody there who could agree."""

from __future__ import annotations

from typing import Literal

from handrail.contract.catalogue import E_HUMAN_REQUIRED
from handrail.contract.outcome import Fault
from handrail.runtime.runtime import Runtime

_YES = ("y", "yes")


def require_yes(
    rt: Runtime, text: str, *, command: str, resume: str, meanwhile: str = ""
) -> Literal["terminal"]:
    """Show the text at the terminal itself and wait for a yes.

    `command` is what a person runs instead, `resume` what shows where things stand, `meanwhile` what the
    caller does until then. Raises Fault E_HUMAN_REQUIRED where nobody can be asked or nobody agrees.
    """
    with rt.interruptions.defer():
        told = rt.terminal().ask(text, lambda: rt.interruptions.stop_reason() == "signal")
    if told is not None and told.strip().lower() in _YES:
        return "terminal"
    raise Fault(
        E_HUMAN_REQUIRED,
        "Nobody agreed at a terminal; nothing was changed. A person must run this command themselves.",
        details={"action": command, "resume": resume},
        hint=f"Ask the user to run `{command}` in a terminal of their own{meanwhile}.",
    )
