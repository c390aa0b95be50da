"""The one list of builtins, which feeds the compiler, the catalog, the docs and the editor schema. Pure."""

from __future__ import annotations

from handrail.workflows.builtins.capabilities import CAPABILITIES
from handrail.workflows.builtins.contracts import CONTRACTS
from handrail.workflows.builtins.prompt_texts import FEATURES, REFS
from handrail.workflows.builtins.specs import (
    Builtin,
    CapabilitySpec,
    ContractSpec,
    FeatureSpec,
    RefSpec,
    TemplateSpec,
)
from handrail.workflows.builtins.templates import TEMPLATES

_TEMPLATES = {spec.id: spec for spec in TEMPLATES}
_FEATURES = {spec.id: spec for spec in FEATURES}
_CONTRACTS = {spec.id: spec for spec in CONTRACTS}
_REFS = {name: spec for spec in REFS for name in (spec.id, *spec.other_ids)}
_CAPABILITIES = {spec.id: spec for spec in CAPABILITIES}


def find_template(template_id: str) -> TemplateSpec | None:
    """Routines are not here: the compiler makes their templates with `make_routine_template`."""
    return _TEMPLATES.get(template_id)


def find_feature(feature_id: str) -> FeatureSpec | None:
    return _FEATURES.get(feature_id)


def find_contract(contract_id: str) -> ContractSpec | None:
    return _CONTRACTS.get(contract_id)


def find_ref(ref_id: str) -> RefSpec | None:
    """A ref by its id, or by what files from elsewhere call it."""
    return _REFS.get(ref_id)


def find_capability(capability_id: str) -> CapabilitySpec | None:
    return _CAPABILITIES.get(capability_id)


def all_builtins() -> tuple[Builtin, ...]:
    """Every builtin, kind by kind, by id."""
    return (*TEMPLATES, *FEATURES, *CONTRACTS, *REFS, *CAPABILITIES)
