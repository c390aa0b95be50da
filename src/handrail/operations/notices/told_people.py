"""Telling people about a run of this machine, after the reply: the command of the user's settings."""

from __future__ import annotations

from handrail.operations.notices.outward import encode_notice, list_outward
from handrail.runtime.runtime import NoticeDue, Runtime


def tell_people(rt: Runtime, due: NoticeDue) -> str:
    """Start the command once for each thing to tell. Returns why not, empty when all went well."""
    if rt.start_notice is None or not due.notify.command:
        return ""
    notices = list_outward(due.session_id, due.records, due.notify.kinds, with_text=due.notify.with_text)
    troubles = [rt.start_notice(due.notify.command, encode_notice(one)) for one in notices]
    return next(filter(None, troubles), "")
