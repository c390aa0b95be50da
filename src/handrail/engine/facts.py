"""What holds at a node: facts, preferences, the project, and what was already sent for the pending step.
Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, TypeAlias, TypeVar, get_args

import msgspec
from msgspec import UNSET

from handrail.contract.ids import Autonomy, BlobRef, NodeId, ObservationKey, PresetName, RiskPolicy, blob_ref
from handrail.contract.outcome import make_from
from handrail.engine.artifact_shapes import CAPABILITY_OBSERVATION, LOOP_CONTROL, LoopDecision, read_as
from handrail.engine.events import (
    OWNED_VALUES,
    Artifact,
    Blocked,
    ObservationRecorded,
    Preferences,
    PreferencesChanged,
    PreferencesDelta,
    Project,
    ValueOwner,
)
from handrail.engine.history import (
    History,
    Node,
    Notes,
    Recorded,
    Run,
    attached_to,
    instance_of,
    kept_in_instance,
    path_to,
    steps_after,
)
from handrail.engine.navigate import (
    LoopFrame,
    Running,
    State,
    deciding_loop,
    frames_of,
    is_guarded,
    loop_values,
)
from handrail.engine.owners import options_at
from handrail.engine.reasons import Blocker
from handrail.workflows.compiled import CompiledWorkflow, Option
from handrail.workflows.conditions import Facts, named_value
from handrail.workflows.limits import MAX_ITERATIONS

# Facts: what conditions and prompts may read, along the lineage of a node
#
# A fork never has the facts of its sibling: context, artifacts and loop decisions come from the ancestors.


def first_facts(workflow: CompiledWorkflow, context: dict[str, Any]) -> Facts:
    """Return the facts before the first node: defaults, and the context of the start."""
    defaults = _defaults(workflow)
    gathered = _GatheredFacts(workflow, (), Facts(values=defaults, assumed=defaults.keys()))
    gathered.take_context(context)
    return gathered.facts()


def facts_at(history: History, workflow: CompiledWorkflow, node_id: NodeId) -> Facts:
    """Return the facts that hold at a node."""
    return _held_at(history, workflow, node_id).facts()


def facts_after(
    history: History,
    workflow: CompiledWorkflow,
    node: Node,
    context: dict[str, Any],
    artifacts: Iterable[Artifact],
    option: Option | None = None,
) -> Facts:
    """Return the facts that will hold once a report at this node is accepted; they decide where the run
    goes.
    """
    gathered = _held_at(history, workflow, node.node_id)
    return gathered.take_report(context, artifacts, option, node.state)


def apply_report(
    workflow: CompiledWorkflow,
    facts: Facts,
    state: Running,
    context: dict[str, Any],
    artifacts: Iterable[Artifact],
    option: Option | None = None,
) -> Facts:
    """Return the facts of a position with a report applied: `facts_after` for callers without a history."""
    return _GatheredFacts(workflow, state.loops, facts).take_report(context, artifacts, option, state)


def carry_facts(facts: Facts, before: Running, after: Running) -> Facts:
    """Return the facts at a later position. Decisions of iterations that ended do not count there."""
    same = 0
    for left, right in zip(before.loops, after.loops, strict=False):
        if left != right:
            break
        same += 1
    current = {frame.loop_id for frame in after.loops[:same]}
    kept = {loop_id: decision for loop_id, decision in facts.loop_decisions.items() if loop_id in current}
    return msgspec.structs.replace(facts, loop_decisions=kept)


def add_loop_values(workflow: CompiledWorkflow, state: Running, facts: Facts) -> Facts:
    """Return the same facts with the items and indexes of the loops around a position."""
    return msgspec.structs.replace(facts, values=loop_values(workflow, state.loops, facts.values))


def _held_at(history: History, workflow: CompiledWorkflow, node_id: NodeId) -> _GatheredFacts:
    held = history.inherited[node_id]
    frames = frames_of(history.nodes[node_id].state)
    decisions: dict[str, str] = {}
    for named, decided in sorted(held.decisions.items(), key=lambda item: item[1].index):
        _decide(decisions, workflow, frames, named, decided.decision, decided.frames)
    defaults, given = _defaults(workflow), _named_values(history, node_id)
    begun = Facts(
        values={**defaults, **given},
        assumed=defaults.keys() - given.keys(),
        artifacts=held.artifacts,
        loop_decisions=decisions,
        chosen=options_at(history, workflow, path_to(history, node_id)) if is_guarded(workflow) else {},
    )
    return _GatheredFacts(workflow, frames, begun)


def _named_values(history: History, node_id: NodeId) -> dict[str, Any]:
    """Return the context by its names. A key with a dot is a name only in runs that began under older
    rules.
    """
    held = history.inherited[node_id].context
    is_plain = history.runs[history.nodes[node_id].run_id].rules >= OWNED_VALUES
    return {name: value for name, value in held.items() if not (is_plain and "." in name)}


def _defaults(workflow: CompiledWorkflow) -> dict[str, Any]:
    return {name: spec.default for name, spec in workflow.inputs.items() if spec.default is not UNSET}


def _decide(
    decisions: dict[str, str],
    workflow: CompiledWorkflow,
    frames: tuple[LoopFrame, ...],
    named: str,
    decision: str,
    made_in: tuple[LoopFrame, ...],
) -> None:
    """Keep a decision if it is about an iteration around this position, including outer ones."""
    loop_id = named or deciding_loop(workflow, made_in)
    depth = next((place for place, frame in enumerate(made_in, 1) if frame.loop_id == loop_id), 0)
    if depth and made_in[:depth] == frames[:depth]:
        decisions[loop_id] = decision


def _is_counted(value: Any) -> bool:
    """Whether a list was made from a number and follows it."""
    return isinstance(value, list) and value == list(range(1, len(value) + 1))


class _GatheredFacts:
    """Facts while they are collected for one position."""

    def __init__(self, workflow: CompiledWorkflow, frames: tuple[LoopFrame, ...], begun: Facts) -> None:
        self._workflow = workflow
        self._frames = frames
        self._values = dict(begun.values)
        self._artifacts = dict(begun.artifacts)
        self._decisions = dict(begun.loop_decisions)
        self._chosen = begun.chosen
        self._assumed = set(begun.assumed)
        self._counted = {
            name
            for name, spec in workflow.inputs.items()
            if spec.counted_by and _is_counted(begun.values.get(name))
        }

    def take_context(self, delta: dict[str, Any]) -> None:
        defaults = _defaults(self._workflow)
        for key, value in delta.items():
            self._assumed.discard(key)
            if value is not None:
                self._values[key] = value
            elif key in defaults:
                self._values[key] = defaults[key]
                self._assumed.add(key)
            else:
                self._values.pop(key, None)

    def take_report(
        self,
        context: dict[str, Any],
        artifacts: Iterable[Artifact],
        option: Option | None,
        reported_at: State,
    ) -> Facts:
        """Add a report and return the facts. Only artifacts that match their contract count."""
        self.take_context(context)
        if option is not None:
            self._chosen = {**self._chosen, **option.sets}
        for artifact in artifacts:
            if not artifact.contract_ref:
                continue
            self._artifacts[artifact.kind] = artifact.body
            control = read_as(LoopDecision, artifact.body) if artifact.kind == LOOP_CONTROL else None
            if control is not None:
                made_in = frames_of(reported_at)
                _decide(
                    self._decisions, self._workflow, self._frames, control.loop_id, control.decision, made_in
                )
        return self.facts()

    def facts(self) -> Facts:
        for name, spec in self._workflow.inputs.items():
            if spec.counted_by and (name not in self._values or name in self._counted):
                self._count(name, named_value(self._values, spec.counted_by))
        return Facts(
            values=self._values,
            artifacts=self._artifacts,
            loop_decisions=self._decisions,
            chosen=self._chosen,
            assumed=frozenset(self._assumed),
        )

    def _count(self, name: str, most: Any) -> None:
        """Set the list of numbers up to a value; there is no list unless the value is a number."""
        if isinstance(most, int | float) and not isinstance(most, bool) and isfinite(most):
            self._values[name] = list(range(1, min(int(most), MAX_ITERATIONS + 1) + 1))


# Preferences: which hold at a node, and when a mode goes beyond what the author calls safe
#
# Preferences follow lineage like context. A change applies to the node at which work was when it was made,
# and to what follows. Work that returns to an older node has the preferences of that node.

_Level = TypeVar("_Level", Autonomy, RiskPolicy)

DEFAULT_PREFERENCES = Preferences(autonomy="guided", risk_policy="conservative")
NO_CHANGE = PreferencesDelta()
PRESETS: dict[PresetName, Preferences] = {
    "guided": DEFAULT_PREFERENCES,
    "full_auto_with_stops": Preferences(autonomy="full_auto_stop_on_user_deps", risk_policy="balanced"),
    "full_auto": Preferences(autonomy="full_auto_never_stop", risk_policy="conservative"),
}
"""Combinations that people choose by name."""

# From the most careful to the most daring.
_AUTONOMY: tuple[Autonomy, ...] = get_args(Autonomy)
_RISK: tuple[RiskPolicy, ...] = get_args(RiskPolicy)


def preferences_at(history: History, node_id: NodeId) -> Preferences:
    """Return the preferences in force at a node."""
    return history.inherited[node_id].preferences or DEFAULT_PREFERENCES


def preferences_after(history: History, node_id: NodeId) -> Preferences:
    """Return the preferences for a node that is created below this one now, for example by a retry."""
    change = change_since(history, node_id, "")
    return preferences_at(history, node_id) if change is None else change.effective


def change_at_start(
    history: History, asked: PreferencesDelta, change_id: str, defaults: PreferencesDelta = NO_CHANGE
) -> PreferencesChanged:
    """Return the preferences of a new run: those of the session, or the default, with the changes that the
    user requested.

    `defaults` are the user's own, for a session that begins with this run.
    """
    base = apply_delta(DEFAULT_PREFERENCES, defaults if history.head == 0 else NO_CHANGE)
    if history.baseline:
        base = history.baseline.preferences
    return PreferencesChanged(
        change_id=change_id,
        source="system" if asked == NO_CHANGE else "user",
        operation="run.start",
        delta=asked,
        effective=apply_delta(base, asked),
    )


def change_since(history: History, node_id: NodeId, change_id: str) -> PreferencesChanged | None:
    """Return the baseline that a child of this node adopts, or None. A child adopts a baseline
    that was set while work was at this node.

    EXEC "Node-attached effective preferences": returning to an older node does not bring today's
    preferences.
    """
    held, baseline = preferences_at(history, node_id), history.baseline
    if baseline is None or baseline.preferences == held:
        return None
    node = history.nodes[node_id]
    if baseline.index < node.index or any(step.index > node.index for step in steps_after(history, node_id)):
        return None
    wanted = baseline.preferences
    delta = PreferencesDelta(
        autonomy=None if wanted.autonomy == held.autonomy else wanted.autonomy,
        risk_policy=None if wanted.risk_policy == held.risk_policy else wanted.risk_policy,
    )
    return PreferencesChanged(
        change_id=change_id, source="user", operation="run.continue", delta=delta, effective=wanted
    )


def apply_delta(base: Preferences, delta: PreferencesDelta) -> Preferences:
    return Preferences(
        autonomy=delta.autonomy or base.autonomy, risk_policy=delta.risk_policy or base.risk_policy
    )


def cap_preferences(workflow: CompiledWorkflow, preferences: Preferences) -> Preferences | None:
    """Return the highest combination that the author considers safe, or None if the preferences are within
    it.
    """
    most = workflow.recommended
    within = Preferences(
        autonomy=_lower(_AUTONOMY, preferences.autonomy, most.autonomy),
        risk_policy=_lower(_RISK, preferences.risk_policy, most.risk_policy),
    )
    return None if within == preferences else within


def _lower(order: tuple[_Level, ...], wanted: _Level, most: _Level | None) -> _Level:
    return wanted if most is None or order.index(wanted) <= order.index(most) else most


# The project that work belongs to, and whether it is the caller's
#
# The log keeps the name of a project and hashes of its places, never a path, because bundles carry the log to
# other machines.

LONGEST_NAME = 100
_HASH_LENGTH = 32

MOST_TAGS = 20
"""Limit for the tags of a workflow that its runs can be found by."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A project by its name, the hash of its directory, and that of its repository's root if it has one."""

    name: str = ""
    directory: str = ""
    repository: str = ""
    identity: str = ""


def place_of(project: str, seen: Mapping[ObservationKey, str], identity: str = "") -> Place:
    """Return the place of a caller, from what is observed there."""
    return _place(encode_project(project, identity), seen.get("repo_root_hash", ""))


def encode_project(project: str, identity: str = "") -> Project:
    """Return a project's directory in the form in which the log keeps it."""
    name = project.replace("\\", "/").rstrip("/").rpartition("/")[2]
    directory = blob_ref(project.encode("utf-8", "surrogateescape")).removeprefix("sha256:")
    return Project(
        name=name.encode("utf-8", "replace").decode()[:LONGEST_NAME],
        directory=directory[:_HASH_LENGTH],
        identity=identity,
    )


def run_place(run: Run) -> Place:
    """Return where a run began; logs of older versions know only the repository."""
    return _place(run.project, run.seen.get("repo_root_hash", ""))


def session_place(history: History) -> Place:
    """Return where a session without a run began."""
    opening = history.opening
    return _place(opening.project if opening else None, history.observations.get("repo_root_hash", ""))


def _place(project: Project | None, repository: str) -> Place:
    known = () if project is None else (project,)
    return make_from(Place, *known, repository=repository)


def is_same_place(one: Place, other: Place) -> bool:
    """Whether both are the same project. Two unknown places are not."""
    if one.identity and one.identity == other.identity:
        return True
    if one.repository and other.repository:
        return one.repository == other.repository  # a directory of it may be named as the project too
    return bool(one.directory) and one.directory == other.directory


# What an agent reports, and what was already sent for the pending step

RECAP_EXCERPT_BYTES = 4_096
"""Notes up to this size are in the event; longer ones go to a blob, and recaps show this much of them."""


class WorkDone(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent reports with an ack or a checkpoint."""

    input_digest: str
    notes: str = ""
    notes_ref: BlobRef | None = None
    """The blob with the complete notes, if they are longer than an event holds."""
    context: dict[str, Any] = {}
    result: dict[str, Any] = {}
    """What an action of Handrail saves. It is apart from the context, because the agent does not state it."""
    action_line: str = ""
    """What an action of Handrail did, or that it did not run."""
    owners: dict[str, ValueOwner] = {}
    """The owners of values that the decision adds to the context: an action's result, what an option sets,
    a person's value.
    """
    artifacts: tuple[dict[str, Any], ...] = ()
    option: int | None = None
    """For a choice step: the position of the option whose token was sent."""


class Helper(msgspec.Struct, frozen=True, kw_only=True):
    """What a call for delegated work says about who does it."""

    project: Project | None = None
    """The project in which the work is done, unless the run already has one."""
    worker: str = ""
    """The name that the helper gave itself."""


def settle_helper(run: Run, seen: ObservationRecorded) -> Run:
    """Return the run with its own directory, or with one more name of a helper."""
    if seen.key == "worker":
        return msgspec.structs.replace(run, workers=(*run.workers, seen.value))
    return msgspec.structs.replace(run, project=seen.project, has_own_project=True)


def settle_account(run: Run, account: str) -> Run:
    """Return the run with the account that reported in it, if the run was delegated. Each account is kept
    once.
    """
    is_new = run.parent is not None and account not in run.accounts
    return msgspec.structs.replace(run, accounts=(*run.accounts, account)) if is_new else run


class KeptWork(msgspec.Struct, frozen=True, kw_only=True):
    """What blocked attempts and checkpoints sent for the pending step. A report need not send it again.

    It is judged again with the report, so nothing that was wrong is accepted.
    """

    notes: str = ""
    artifacts: tuple[dict[str, Any], ...] = ()


NOTHING_KEPT = KeptWork()

Subject: TypeAlias = Callable[[dict[str, Any]], tuple[str, str]]
"""Function that returns what an artifact is about."""


def find_long_notes(history: History, node: Node) -> BlobRef | None:
    """Find the blob of the whole notes that a retry at this node counts, if the event has an excerpt."""
    for attempt in reversed(_attempts_before(history, node)):
        written = history.notes.get(attempt.node_id)
        if written is not None:
            return written.ref
    return None


def collect_kept(
    history: History,
    node: Node,
    subject_of: Subject,
    whole_notes: str = "",
    asked: frozenset[str] = frozenset(),
    needed: frozenset[str] = frozenset(),
) -> KeptWork:
    """Return what was sent for the step that is pending at a node and need not be sent again.

    That is: notes and artifacts of the blocked attempts that lead to the node; from every checkpoint of the
    step, the artifacts of a kind that the step requires (`asked`), because the others count at once; and
    from every attempt and checkpoint since the run last left the step, observations of a capability that it
    cannot do without (`needed`), because a lost capability stops the step until it is observed to work.
    `whole_notes` replaces notes of which the event has only an excerpt (`find_long_notes`).
    """
    leading = {attempt.node_id for attempt in _attempts_before(history, node)}
    left_at = max((step.index for step in steps_after(history, node.node_id)), default=0)
    kept = NOTHING_KEPT
    for earlier in kept_in_instance(history, instance_of(history, node.node_id)):
        is_led_by = earlier.node_id in leading
        written = history.notes.get(earlier.node_id) if is_led_by else None
        brought = [
            held.artifact.body
            for held in attached_to(history, earlier.node_id).artifacts
            if is_led_by
            or (earlier.kind == "checkpoint" and held.artifact.kind in asked)
            or (earlier.index > left_at and _is_sight_of(needed, held.artifact))
        ]
        kept = update_kept(kept, "" if written is None else written.text, brought, subject_of)
    return msgspec.structs.replace(kept, notes=whole_notes or kept.notes)


def answer_to(history: History, node_id: NodeId) -> Recorded | None:
    """Return the answer that created a node, or None if no report did."""
    return next((held for held in history.advances.values() if held.to_node_id == node_id), None)


def blocked_at(history: History, node: Node) -> Blocked | None:
    """Return why the attempt that created a node was blocked, or None if it was not."""
    answer = answer_to(history, node.node_id) if node.kind == "blocked_attempt" else None
    return None if answer is None else answer.blocked


def list_blockers(history: History, node: Node) -> tuple[Blocker, ...]:
    """Return why the attempts at the pending step that lead to a node were blocked."""
    made = {attempt.node_id for attempt in _attempts_before(history, node)}
    if not made:
        return ()
    answers = [answer.blocked for answer in history.advances.values() if answer.to_node_id in made]
    return tuple(blocker for blocked in answers if blocked is not None for blocker in blocked.every_blocker)


def _attempts_before(history: History, node: Node) -> list[Node]:
    """Return the blocked attempts of the pending step on the way to a node, oldest first."""
    attempts: list[Node] = []
    while node.kind != "step" and node.parent is not None:
        if node.kind == "blocked_attempt":
            attempts.append(node)
        node = history.nodes[node.parent]
    return attempts[::-1]


def _is_sight_of(capabilities: frozenset[str], artifact: Artifact) -> bool:
    return artifact.kind == CAPABILITY_OBSERVATION and artifact.body.get("capability") in capabilities


def update_kept(
    kept: KeptWork, notes: str, brought: Sequence[dict[str, Any]], subject_of: Subject
) -> KeptWork:
    """Return the kept work with one more attempt: its artifacts replace earlier ones about the same
    subject.
    """
    replaced = {subject_of(body) for body in brought}
    before = (body for body in kept.artifacts if subject_of(body) not in replaced)
    return KeptWork(notes=notes or kept.notes, artifacts=(*before, *brought))


def excerpt(notes: str, limit: int = RECAP_EXCERPT_BYTES) -> str:
    """Return the leading bytes of a text, cut between characters."""
    return notes.encode()[:limit].decode(errors="ignore")


# Texts for readers


def notes_at(history: History, node_id: NodeId) -> Notes | None:
    """Return what was done on the way to a node, for readers: first the line of an action of Handrail, then
    the notes.
    """
    line, notes = attached_to(history, node_id).action_line, history.notes.get(node_id)
    if not line:
        return notes
    text = line if notes is None else f"{line}\n\n{notes.text}"
    ref = None if notes is None else notes.ref
    return Notes(text=text, ref=ref, size_bytes=len(text.encode()) if notes is None else notes.size_bytes)


LONGEST_GOAL = 200
"""Limit in characters for a goal that is used as a title."""


def title_of_goal(goal: str) -> str:
    """Return a goal as a title: only its beginning if it is long. The log keeps all of it."""
    return goal if len(goal) <= LONGEST_GOAL else goal[: LONGEST_GOAL - 1].rstrip() + "…"
