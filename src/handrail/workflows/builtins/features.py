"""Builtin features: guidance that is added to prompts, short because every step pays for it. Pure."""

from __future__ import annotations

from typing import Any

from handrail.workflows.builtins.capabilities import CAPABILITIES
from handrail.workflows.builtins.specs import Addition, FeatureSpec, Site
from handrail.workflows.compiled import InputSpec
from handrail.workflows.prompt_sections import ABOUT_CAPABILITIES, ARTIFACT, MODE, NOTES, OTHER_AGENTS

PREFIX = "wr.features."

_STEPS = InputSpec(
    type="string",
    enum=("first_step", "each_step"),
    default="first_step",
    description="Where the text is added. first_step costs least; each_step survives a compacted chat.",
)


def _is_meant(config: dict[str, Any], site: Site) -> bool:
    """Probes are left alone: they ask one question."""
    return not site.is_probe and (site.is_first or config["steps"] == "each_step")


def _mode_guidance(config: dict[str, Any], site: Site) -> tuple[Addition, ...]:
    if not _is_meant(config, site):
        return ()
    text = """\
preferences.autonomy in the reply says how much you may decide alone.
- guided: where a step asks for confirmation, show the result and wait for the user's answer.
- full_auto_stop_on_user_deps: go on alone; stop only for what the user alone can give, and ask for it in \
one message.
- full_auto_never_stop: never wait. Take the option that is easiest to undo, and report the assumption as \
wr.gap.
Contracts, checks and limits are the same in every mode."""
    return (Addition(place="before", heading=MODE, text=text),)


def _durable_recap_guidance(config: dict[str, Any], site: Site) -> tuple[Addition, ...]:
    if site.is_probe:
        return ()
    text = f"""\
Write notesMarkdown for somebody who has the notes and nothing else of this chat, in at most \
{config["maxLines"]} lines.
Result first; then decisions with reasons, evidence with exact places and commands, open points. Only what \
is new here."""
    return (Addition(place="after", heading=NOTES, text=text),)


def _capabilities(config: dict[str, Any], site: Site) -> tuple[Addition, ...]:
    if not _is_meant(config, site):
        return ()
    lines = []
    for capability in CAPABILITIES:
        match site.capabilities.get(capability.id):
            case "required":
                lines.append(f"- {capability.title} is required and is probed before it is needed.")
            case "preferred":
                lines.append(
                    f"- {capability.title}: use it where it helps. When an attempt fails: "
                    f"{capability.fallback} Report the failed attempt once, as wr.capability_observation."
                )
            case "disabled":
                lines.append(f"- {capability.title}: do not use it in this workflow, even where you could.")
            case None:
                pass
    if not lines:
        return ()
    text = "Whether these work here is learned by trying, never assumed.\n" + "\n".join(lines)
    return (Addition(place="before", heading=ABOUT_CAPABILITIES, text=text),)


def _output_contracts(_: dict[str, Any], site: Site) -> tuple[Addition, ...]:
    if not site.contract_id:
        return ()
    text = f"""\
Hand in one artifact of kind {site.artifact_kind} in output.artifacts, beside the notes. It is checked \
field by field.
Fill it from what you observed in this step, never from the example. When it is refused, read each \
violation, change what it names, and send the whole artifact again."""
    return (Addition(place="after", heading=ARTIFACT, text=text),)


def _subagent_guidance(config: dict[str, Any], site: Site) -> tuple[Addition, ...]:
    if not _is_meant(config, site) or site.capabilities.get("delegation") == "disabled":
        return ()
    text = f"""\
You may hand out independent questions to other agents, at most {config["maxParallel"]} at a time.
- Give each one the facts it needs, one question, what to return, and no hint of the answer you expect.
- They read and report. You alone edit files, decide, and call this workflow.
- Read their evidence yourself before you use it; an agent's word is a lead, not a proof.
- When none can be started, answer the questions yourself, one after the other."""
    return (Addition(place="before", heading=OTHER_AGENTS, text=text),)


FEATURES: tuple[FeatureSpec, ...] = (
    FeatureSpec(
        id=PREFIX + "capabilities",
        title="Capabilities",
        summary="Says before the prompt how to use, replace or leave alone each declared capability.",
        config={"steps": _STEPS},
        adds=_capabilities,
        example_config={"steps": "each_step"},
    ),
    FeatureSpec(
        id=PREFIX + "durable_recap_guidance",
        title="Durable notes",
        summary="Asks after every prompt for notes that carry the work on their own.",
        config={
            "maxLines": InputSpec(
                type="integer",
                enum=(10, 20, 40, 80),
                default=40,
                description="The longest the notes of a step should be, in lines.",
            )
        },
        adds=_durable_recap_guidance,
        example_config={"maxLines": 20},
    ),
    FeatureSpec(
        id=PREFIX + "mode_guidance",
        title="Modes",
        summary="Says before the prompt what guided and the automatic modes ask of the agent.",
        config={"steps": _STEPS},
        adds=_mode_guidance,
        example_config={"steps": "each_step"},
    ),
    FeatureSpec(
        id=PREFIX + "output_contracts",
        title="Artifacts",
        summary="Says after the prompt of each step with a contract how to hand in its artifact.",
        config={},
        adds=_output_contracts,
    ),
    FeatureSpec(
        id=PREFIX + "subagent_guidance",
        title="Other agents",
        summary="Says before the prompt what may be handed to other agents, and what stays with this one.",
        config={
            "steps": _STEPS,
            "maxParallel": InputSpec(
                type="integer",
                enum=(1, 2, 3, 4, 5, 6, 7, 8),
                default=3,
                description="How many other agents may work at the same time.",
            ),
        },
        adds=_subagent_guidance,
        example_config={"maxParallel": 4},
    ),
)
