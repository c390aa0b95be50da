"""What may break when a definition changes: files in layers, entry points, tests, and a score. Pure.

The score is a sum with a ceiling, so that it can be checked by hand:

    10 if it is exported, 20 if an entry point of a package reaches it,
    3 for each file that uses it (or names a member so), 1 for each file that only imports one of those,
    2 for each place that may mean it and cannot be proven, at most 20 for these,
    10 if files could not be judged, 10 if no test reaches it; at most 100.

Below 25 it is low, below 60 medium, else high.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

import msgspec

from handrail_code.facts.join import Found, Project, Reference
from handrail_code.facts.resolution import list_targets
from handrail_code.facts.slots import Trouble
from handrail_code.scan.callers import find_uses, is_test
from handrail_code.scan.outline import ModuleGraph

MOST_LAYERS = 10
MOST_UNSURE_POINTS = 20
HIGHEST_SCORE = 100
DOORS = ("main", "module", "browser", "types", "bin", "exports")

Risk: TypeAlias = Literal["low", "medium", "high"]


class RippleAnswer(msgspec.Struct, frozen=True, kw_only=True):
    layers: tuple[tuple[str, ...], ...]
    """First the files that use it, then those that import them, and so on; each file once."""
    entry_points: tuple[str, ...]
    """Files that a package.json names, among them."""
    tests: tuple[str, ...]
    score: int
    risk: Risk
    unsure: tuple[Reference, ...]
    troubles: tuple[Trouble, ...]


def ripple(project: Project, graph: ModuleGraph, found: Found) -> RippleAnswer:
    used = find_uses(project, found)
    is_member = project.symbol_of(found.path, found.index) is None
    near = (one for one in used.unsure if is_member and one.level == "member")
    layers = [sorted({one.path for one in (*used.sure, *near)} - {found.path})]
    reached = {found.path, *layers[0]}
    is_public = found.definition.exported
    # What a file does with its own helper reaches those who import the file.
    is_used_here = is_member or any(one.role != "declaration" for one in used.sure)
    front = [*layers[0], *([found.path] if is_public or is_used_here else [])]
    while front and len(layers) < MOST_LAYERS:
        further = sorted({one.path for path in front for one in graph.importers_of(path)} - reached)
        if not further:
            break
        layers.append(further)
        reached |= set(further)
        front = further
    entries = sorted(reached & set(_list_entry_points(project)))
    tests = sorted(path for path in reached if is_test(path))
    direct, unsure = len(layers[0]), min(MOST_UNSURE_POINTS, 2 * len(used.unsure))
    points = 10 * is_public + 20 * bool(entries) + 3 * direct + (len(reached) - 1 - direct)
    score = min(HIGHEST_SCORE, points + unsure + 10 * bool(used.troubles) + 10 * (not tests))
    return RippleAnswer(
        layers=tuple(tuple(layer) for layer in layers),
        entry_points=tuple(entries),
        tests=tuple(tests),
        score=score,
        risk="low" if score < 25 else "medium" if score < 60 else "high",
        unsure=used.unsure,
        troubles=used.troubles,
    )


def _list_entry_points(project: Project) -> Iterator[str]:
    """The source files that a package names as its own doors."""
    for manifest in project.source.manifests():
        settings = project.source.settings(manifest)
        folder = manifest.rpartition("/")[0]
        fields = settings if isinstance(settings, dict) else {}
        for path in list_targets([fields.get(name) for name in DOORS], None):
            yield "/".join(filter(None, (folder, path.removeprefix("./"))))
