"""Builtin capabilities: what an agent's environment may offer, how to find out, what to do without. Pure."""

from __future__ import annotations

from handrail.contract.outcome import Json
from handrail.workflows.builtins.specs import CapabilitySpec

_DELEGATION = CapabilitySpec(
    id="delegation",
    title="Delegation",
    summary="Handing a task to another agent that works on its own and reports back.",
    probe="""\
Find out whether you can hand a task to another agent here.

1. Look through your tools for one that starts a subagent, a task or a worker.
2. If there is one, hand it this task: "Reply with the word ready and the number of files in the current \
folder."
3. Wait for its answer and compare it with your own count.

Report available when an answer came back, and quote it. Report unavailable when no such tool exists or \
the attempt was refused, and name the tool or the message. Do nothing else in this step.""",
    fallback="Do the same tasks yourself, one after the other, and write down the answer to each before you "
    "begin the next.",
    seen="Handed the count of files to a subagent; it answered ready and 12, as many as I count.",
    remedy="Turn on subagents or background tasks in the agent's settings, then repeat this step.",
)

_WEB_BROWSING = CapabilitySpec(
    id="web_browsing",
    title="Web browsing",
    summary="Reading pages or searching on the web.",
    probe="""\
Find out whether you can read the web here.

1. Look through your tools for one that fetches a page or searches the web.
2. If there is one, fetch https://example.org with it.
3. Read the title of the page from what came back.

Report available when you got the page, and quote its title. Report unavailable when no such tool exists or \
the attempt was refused, and name the tool or the message. Do nothing else in this step.""",
    fallback="Work from the files in the workspace and from what the user gives you. Mark every fact that "
    "you could not look up as not checked.",
    seen="Fetched https://example.org and read its title, Example Domain.",
    remedy="Connect a tool that fetches pages, or give the needed documents as files, then repeat this step.",
)

CAPABILITIES: tuple[CapabilitySpec, ...] = (_DELEGATION, _WEB_BROWSING)


def make_observation(example: dict[str, Json], capability: str) -> dict[str, Json]:
    """The example of an observation, about this capability: what trying it would have shown."""
    seen = {spec.id: spec.seen for spec in CAPABILITIES}
    return example | {"capability": capability, "summary": seen.get(capability, example.get("summary", ""))}
