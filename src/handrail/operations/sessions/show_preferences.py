"""`settings show --preferences`: the preferences in force, and the source of each."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Success
from handrail.contract.parameters import MintedId
from handrail.operations.finding import find_session
from handrail.operations.sessions.preferences import global_preferences, session_preferences
from handrail.runtime.operation import Input, Maybe, Operation
from handrail.runtime.runtime import ReadPorts
from handrail.views.preferences import ShownPreferences


class ShowPreferences(Input, frozen=True, kw_only=True):
    """The session, or the user's own preferences."""

    session: Maybe[Annotated[MintedId, Meta(description="Session id; default: those of new sessions.")]] = (
        UNSET
    )


def show_preferences(rt: ReadPorts, request: ShowPreferences) -> ShownPreferences | Success:
    """Return the preferences. Raise Fault SESSION_NOT_FOUND, and E_CONFIG if the settings cannot be read."""
    if request.session is UNSET:
        return global_preferences(rt.settings.of())
    session = find_session(rt, request.session)
    return Success(data=msgspec.to_builtins(session_preferences(session.history)), notices=session.notices)


OPERATION = Operation(
    name="preferences.show",
    effect="read",
    summary="Show how far agents may go on their own: in new sessions, or in one session.",
    input=ShowPreferences,
    output=ShownPreferences,
    perform=show_preferences,
    shape=Shape(levels={"minimal": ("autonomy", "risk_policy")}),
    errors=("SESSION_NOT_FOUND", "STORE_UNSUPPORTED_VERSION"),
)
