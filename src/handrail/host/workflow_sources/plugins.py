"""Workflow files that installed packages offer, for the plugins that the user's config names.

A package declares an entry point in the group `handrail.workflows`; it names a function without arguments
that returns a mapping from file name to the file's bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points

from handrail.contract.suggest import find_nearest
from handrail.contract.wording import quote
from handrail.host.workflow_sources.directories import MOST_FILES
from handrail.host.workflow_sources.settings import describe_trouble
from handrail.ports.workspace import WorkflowFile
from handrail.workflows.limits import MAX_SOURCE_BYTES

GROUP = "handrail.workflows"


def read_plugin_files(names: tuple[str, ...]) -> list[WorkflowFile]:
    """The files of each named plugin; one that is missing or fails is listed with its trouble."""
    installed = {point.name: point for point in entry_points(group=GROUP)}
    found: list[WorkflowFile] = []
    for name in dict.fromkeys(names):
        if name in installed:
            found += _files_of(installed[name])
        else:
            near = find_nearest(name, installed)
            remedy = f"Did you mean {' or '.join(near)}?" if near else "Install it, or remove its name."
            message = f"config.json names the plugin {quote(name)}, which is not installed."
            found.append(describe_trouble("plugin", name, message, remedy))
    return found


def _files_of(point: EntryPoint) -> list[WorkflowFile]:
    try:
        offered = point.load()()
    except Exception as error:  # noqa: BLE001 - a plugin is other people's code and may raise anything
        message = f"The plugin {quote(point.name)} failed with {type(error).__name__}: {quote(str(error))}."
        return [describe_trouble("plugin", point.name, message, "Update or remove the plugin.")]
    if not isinstance(offered, Mapping) or not all(
        isinstance(name, str) and isinstance(content, bytes) for name, content in offered.items()
    ):
        message = f"The plugin {quote(point.name)} does not return file names with their bytes."
        return [describe_trouble("plugin", point.name, message, "Update or remove the plugin.")]
    return [
        WorkflowFile(
            source_kind="plugin",
            source_ref=f"{point.name}/{name}",
            content=offered[name][: MAX_SOURCE_BYTES + 1],
        )
        for name in sorted(offered)[:MOST_FILES]
    ]
