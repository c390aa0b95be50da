"""The operations that only a command line has: they describe the command table itself.

They are operations like those of the registry, so parsing, disclosure and rendering treat them alike.
"""

from __future__ import annotations

import importlib

from handrail.runtime.operation import Operation
from handrail.runtime.registry import operation

_MODULES = {
    "self.reference": "handrail.surfaces.cli.reference",
    "self.changelog": "handrail.surfaces.cli.changelog",
    "self.completion": "handrail.surfaces.cli.completion",
}

OWN_OPERATION_NAMES: tuple[str, ...] = tuple(_MODULES)


def operation_of(name: str) -> Operation:
    """One operation, ours or the registry's. Its module is imported here, late, as the registry does."""
    module = _MODULES.get(name)
    if module is None:
        return operation(name)
    loaded = importlib.import_module(module).OPERATION
    assert isinstance(loaded, Operation), f"{module} must define OPERATION"
    return loaded
