"""The kinds of builtins: templates, features, contracts, refs and capabilities. Pure.

A spec has everything that the compiler, the catalog, the docs and the editor schema need to know.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from handrail.contract.outcome import make_from
from handrail.workflows.compiled import Contract, InputSpec, Reference
from handrail.workflows.evidence import Evidence
from handrail.workflows.model import SourceAssessment, SourceFeature, SourcePart, When

CapabilityUse: TypeAlias = Literal["required", "preferred", "disabled"]


class TemplateContext(msgspec.Struct, frozen=True, kw_only=True):
    """The call that is expanded, and what its workflow declares about capabilities.

    The condition of the call is not here: the compiler puts it on every part that comes back.
    """

    prefix: str
    """The id of a single expanded part, or the beginning of the ids of several."""
    title: str = ""
    pointer: str = ""
    require_confirmation: bool | When = False
    """Whether confirmation is required; it is asked for once, at the last step."""
    capabilities: Mapping[str, CapabilityUse] = {}


Expand: TypeAlias = Callable[[dict[str, Any], TemplateContext], tuple[SourcePart, ...]]


class TemplateNeeds(msgspec.Struct, frozen=True, kw_only=True):
    """What the expanded steps need besides themselves; it is added to what the calling workflow declares."""

    assessments: tuple[SourceAssessment, ...] = ()
    references: tuple[Reference, ...] = ()
    features: tuple[SourceFeature, ...] = ()
    capabilities: Mapping[str, CapabilityUse] = {}


class TemplateSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Steps under one name. `expand` gets checked arguments with the defaults filled in."""

    id: str
    title: str
    summary: str
    args: dict[str, InputSpec]
    expand: Expand
    example_args: dict[str, Any]
    takes_inputs: bool = False
    """Whether `{{name}}` is allowed in place of a value of any type."""
    names_inputs: tuple[str, ...] = ()
    """Arguments that must be `{{name}}`, because they name an input of the calling workflow."""
    brings: TemplateNeeds = TemplateNeeds()


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """What a feature knows about the step to which it adds text."""

    is_first: bool = False
    is_probe: bool = False
    contract_id: str = ""
    artifact_kind: str = ""
    capabilities: Mapping[str, CapabilityUse] = {}


class Addition(msgspec.Struct, frozen=True, kw_only=True):
    """Text that a feature puts before or after the prompt of a step, under a heading."""

    place: Literal["before", "after"]
    heading: str
    text: str


Adds: TypeAlias = Callable[[dict[str, Any], Site], tuple[Addition, ...]]


class FeatureSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Guidance added to prompts. `adds` gets checked settings with the defaults filled in, once per step."""

    id: str
    title: str
    summary: str
    config: dict[str, InputSpec]
    adds: Adds
    example_config: dict[str, Any] = {}


class ContractSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Requirements of an artifact of one kind. `guidance` is one line for the prompt."""

    id: str
    title: str
    summary: str
    artifact_kind: str
    schema: dict[str, Any]
    example: dict[str, Any]
    guidance: str
    evidence: tuple[Evidence, ...] = ()

    def compiled(self) -> Contract:
        """Return the contract as it is pinned into a compiled workflow."""
        return make_from(Contract, self)


class RefSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A canonical text for prompt blocks."""

    id: str
    title: str
    summary: str
    text: str
    other_ids: tuple[str, ...] = ()
    """The name that files of other tools use for the same subject."""


class CapabilitySpec(msgspec.Struct, frozen=True, kw_only=True):
    """Something that an agent's environment may offer. Its status is learned by trying, never guessed."""

    id: str
    title: str
    summary: str
    probe: str
    """The prompt of the step that tries it."""
    fallback: str
    """What to do if it is missing."""
    seen: str
    """An example of a report that found it working."""
    remedy: str
    """What the user can do about it."""


Builtin: TypeAlias = TemplateSpec | FeatureSpec | ContractSpec | RefSpec | CapabilitySpec
