"""Runs of one session in the same directory: when they were open, and which files several of them list.
Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from handrail.contract.ids import RunId
from handrail.engine.history import History, Node, Run, attached_to, path_to
from handrail.engine.navigate import Complete
from handrail.engine.tips import find_tips, is_closed, nodes_of

_LISTS = "wr.changed_files"
ASKED_PATHS = "Other work shares this directory: give a reason for each path that you changed."


def shares_directory(history: History, node: Node) -> bool:
    """Whether other work of the session was done in the directory of this node's run at the same time.

    The runs above it wait, so they change nothing. What the runs below it change is part of its own change.
    """
    run = history.runs[node.run_id]
    above = _list_above(history, run)
    return any(
        other.run_id not in above
        and run.run_id not in _list_above(history, other)
        and _directory_of(other) == _directory_of(run)
        and span_of(history, other)[1] > run.index
        for other in history.runs.values()
        if other.parent is not None and other.run_id != run.run_id
    )


def ask_for_paths(history: History, node: Node) -> str:
    """Return what a step that reports changed files says if several runs may have changed a file."""
    return ASKED_PATHS if shares_directory(history, node) else ""


def _list_above(history: History, run: Run) -> frozenset[RunId]:
    found: list[RunId] = []
    while run.parent is not None:
        found.append(run.parent.run_id)
        run = history.runs[run.parent.run_id]
    return frozenset(found)


def span_of(history: History, run: Run) -> tuple[float, float]:
    """Return the index range of a run from its first event to its end; infinite while the run is open."""
    nodes = nodes_of(history, run.run_id)
    tip = history.nodes[find_tips(history, nodes).preferred]
    is_over = isinstance(tip.state, Complete) or is_closed(history, run.run_id, nodes)
    return run.index, history.last_index[tip.node_id] if is_over else inf


def find_shared_files(history: History, runs: Iterable[Run]) -> dict[str, tuple[RunId, ...]]:
    """Return files that several runs of one directory list as changed, if the runs were open at the same
    time.
    """
    listed: dict[str, list[Run]] = {}
    for run in runs:
        for path in _list_files(history, run):
            listed.setdefault(path, []).append(run)
    return {
        path: tuple(run.run_id for run in held)
        for path, held in sorted(listed.items())
        if any(_overlap(history, one, other) for one in held for other in held if one is not other)
    }


def _overlap(history: History, one: Run, other: Run) -> bool:
    (first, last), (begun, ended) = span_of(history, one), span_of(history, other)
    return _directory_of(one) == _directory_of(other) and first < ended and begun < last


def _list_files(history: History, run: Run) -> list[str]:
    """Return the paths in valid lists of changed files on the way to a run's preferred tip, each once."""
    tip = find_tips(history, nodes_of(history, run.run_id)).preferred
    found: dict[str, None] = {}
    for node in path_to(history, tip):
        for held in attached_to(history, node.node_id).artifacts:
            artifact = held.artifact
            if not artifact.contract_ref or artifact.kind != _LISTS:
                continue
            files = artifact.body.get("files", [])
            rows = [one for one in files if isinstance(one, dict)] if isinstance(files, list) else []
            found |= dict.fromkeys(str(one["path"]) for one in rows if "path" in one)
    return list(found)


def _directory_of(run: Run) -> str:
    """Return only the directory: the place of a child does not identify clones."""
    return "" if run.project is None else run.project.directory
