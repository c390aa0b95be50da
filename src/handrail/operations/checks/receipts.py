"""`receipt.key`, `receipt.export`, `receipt.verify`: what a run proved of a commit, for others to check."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail import __version__
from handrail.contract.catalogue import (
    CONTEXT_MISSING,
    E_HUMAN_REQUIRED,
    FEATURE_DISABLED,
    RECEIPT_REFUSED,
    VALIDATION_ERROR,
)
from handrail.contract.disclosure.fields import Shape
from handrail.contract.dsse import MOST_BYTES, Read, encode_for_signing, read_envelope, write_envelope
from handrail.contract.ids import SessionId
from handrail.contract.json.canonical import canonical_bytes
from handrail.contract.outcome import Answer, Fault, Json, NextCall
from handrail.contract.parameters import MintedId, ProjectPath
from handrail.contract.wording import quote
from handrail.engine.code_trees import find_baseline, find_last_seen
from handrail.engine.facts import encode_project
from handrail.engine.history import History, Node, RecordedTree, Run, list_receipts
from handrail.engine.judge.named_places import is_test_file
from handrail.engine.owners import is_imported
from handrail.operations.declared_checks import list_approved, list_environments
from handrail.operations.finding import find_session
from handrail.operations.looking import find_files, find_turns
from handrail.operations.same_project import is_project
from handrail.operations.stored_sessions import Sessions, ask_sessions, facet
from handrail.ports.checks import NamedCommit, PublicKey
from handrail.ports.worktree import Changes, Tree, Unseen
from handrail.projections.overview import choose_run
from handrail.projections.receipt_statement import (
    Stated,
    Subject,
    list_all_parts,
    read_statement,
    state_run,
    write_markdown,
)
from handrail.projections.run_graph import run_graph
from handrail.runtime.damaged_sessions import pass_over
from handrail.runtime.operation import Chunked, Input, Operation, ValueRule
from handrail.runtime.runtime import ReadPorts, Runtime, project_of
from handrail.runtime.sessions import Session, load_pinned_workflow, read_session, require_healthy
from handrail.runtime.who_confirms import require_yes

_TRUST = "Receipts that the key {} signed are believed on this machine from now on."
_ROTATE = "Your receipts are signed with a new key from now on: whoever checks them needs its public half."


class ShowKey(Input, frozen=True, kw_only=True):
    """What to do with the keys; without either, nothing but show them."""

    trust: (
        Annotated[str, Meta(description="Trust receipts of this public key on this machine.", max_length=200)]
        | UnsetType
    ) = UNSET
    rotate: Annotated[bool, Meta(description="Sign with a new key from now on.")] | UnsetType = UNSET


class ReceiptKey(Answer, frozen=True, kw_only=True):
    """Every key that is known here."""

    public: str
    """Give this to whoever checks your receipts."""
    key_id: str
    previous: list[str]
    """Public halves of keys that signed before, newest first."""
    trusted: list[str]
    """Of others."""


def show_key(rt: Runtime, request: ShowKey) -> ReceiptKey:
    """Show the keys, after what was asked for.

    A person is asked before: whoever chooses which keys count decides which receipts are believed. Raises
    Fault E_CONFIG without the extra, VALIDATION_ERROR for a text that is no key, KEYRING_INVALID, and
    E_HUMAN_REQUIRED where nobody agrees.
    """
    require_local(rt)
    keys = rt.receipt_keys()
    trusted = None if request.trust is UNSET else keys.read(request.trust)
    changes = [_TRUST.format(trusted.text)] if trusted is not None else []
    flags = [f"--trust {trusted.text}"] if trusted is not None else []
    if request.rotate is True:
        changes, flags = [*changes, _ROTATE], [*flags, "--rotate"]
    if changes:
        command = " ".join(["handrail receipt key", *flags])
        text = f"\n{' '.join(changes)}\nAgree? [y/n] "
        require_yes(rt, text, command=command, resume="handrail receipt key")
    is_changed = trusted is not None and keys.trust(trusted)
    if request.rotate is True or not keys.list_own():
        keys.rotate()
        is_changed = True
    if is_changed:
        rt.commits.note(NextCall(operation="receipt.key"))
    own, *previous = keys.list_own()
    return ReceiptKey(
        public=own.text,
        key_id=own.key_id,
        previous=[one.text for one in previous],
        trusted=[one.text for one in keys.list_trusted()],
    )


KEY = Operation(
    name="receipt.key",
    effect="record",
    where="companion",
    summary="Show the public key of your receipts, trust another one, or make a new one.",
    input=ShowKey,
    output=ReceiptKey,
    perform=show_key,
    shape=Shape(
        levels={"minimal": ("public", "key_id"), "standard": None, "full": None},
        id_field="key_id",
        select="top",
    ),
    errors=("KEYRING_INVALID", E_HUMAN_REQUIRED.code),
)


def require_local(rt: ReadPorts) -> None:
    """Raises Fault FEATURE_DISABLED: whoever may call a server may not sign as its user."""
    if rt.is_served:
        raise Fault(
            FEATURE_DISABLED,
            "No server uses the keys of receipts.",
            hint="Run it on the command line.",
        )


def find_commit(rt: ReadPorts, project: str, ref: str) -> NamedCommit:
    """Raises Fault VALIDATION_ERROR where the repository of the project has no such commit."""
    found = rt.committed().find(project, ref)
    if found is None:
        problem = {"param": "commit", "problem": "is no commit here", "expected": "a commit of the project"}
        seen = rt.workspace.observations(project)
        why = "" if "repo_root_hash" in seen else ": there is no git repository"
        hint = "git init, and commit." if why else "run it in a checkout that has it; git fetch brings one."
        raise Fault(
            VALIDATION_ERROR,
            f"There is no commit {quote(ref)} of this project here{why}.",
            details={"problems": [problem]},
            hint=f"A receipt is about a commit: {hint}",
        )
    return found


# Whether a receipt is whole, signed by a known key, and about this commit


Refusal: TypeAlias = Literal[
    "not_a_receipt", "unknown_key", "bad_signature", "unknown_commit", "other_commit", "dirty_tree"
]
_ASK_FOR_KEY = (
    "Ask its author for their public line (handrail receipt key), and give it with --key PUB "
    "or keep it: handrail receipt key --trust PUB."
)
_SENTENCES: dict[Refusal, str] = {
    "not_a_receipt": "The file is not a receipt, byte for byte.",
    "unknown_key": "Nobody pinned or gave the key that signed it.",
    "bad_signature": "The signature is not of this statement.",
    "unknown_commit": "This repository has no such commit.",
    "other_commit": "It is about another commit.",
    "dirty_tree": "Its checks ran on other files than those of the commit.",
}
DIRTY: tuple[Refusal, ...] = ("dirty_tree",)
NOT_PROVEN = [
    "That the checks are good ones, or that the commands do what their names say.",
    "That nobody else used the account that holds the key.",
    "Anything under onlyAgentsWord: it is what the agent said.",
    "What git does not track, and the programs, libraries and services around the checks.",
    "What a script starts that a check starts, and what was wrong in the commit that the run began with.",
]


class ReceiptFile(Input, frozen=True, kw_only=True):
    """A file with its name."""

    source: str
    text: Annotated[str, Meta(max_length=MOST_BYTES)]


class VerifyReceipt(Input, frozen=True, kw_only=True):
    """Which receipt, about which commit, and whose key."""

    receipt: Annotated[ReceiptFile, Meta(description="The receipt.")]
    commit: Annotated[MintedId, Meta(description="The commit that it must be about.", max_length=256)]
    key: (
        Annotated[str, Meta(description="The public key of its author; else pinned ones.", max_length=200)]
        | UnsetType
    ) = UNSET
    project: ProjectPath | UnsetType = UNSET


class VerifiedReceipt(Answer, frozen=True, kw_only=True):
    """A receipt that holds, and what it says."""

    commit: str
    result: str
    key_id: str
    key_from: str
    """`given`, `pinned` or `own`."""
    statement: dict[str, Any]
    does_not_prove: list[str]


def verify_receipt(rt: Runtime, request: VerifyReceipt) -> VerifiedReceipt:
    """What the receipt says, if it holds.

    Raises Fault RECEIPT_REFUSED with every reason why not, E_CONFIG without the extra, and VALIDATION_ERROR
    for a key that is none.
    """
    require_local(rt)
    known = _list_keys(rt, request)
    named = rt.committed().find(project_of(rt, request.project), request.commit)
    read = read_envelope(request.receipt.text.encode("utf-8", "surrogateescape"))
    if read is None:
        raise _refuse(["not_a_receipt"], "", "")
    key, key_from = known.get(read.key_id, (None, ""))
    reasons = _judge_signature(rt, read, key)
    if reasons:  # what a forged statement says is not worth telling
        raise _refuse(reasons, "", read.key_id)
    stated = read_statement(read.statement)
    if stated is None:
        raise _refuse(["not_a_receipt"], "", read.key_id)
    reasons = [*_judge_commit(stated, named), *(() if stated.is_clean else DIRTY)]
    if reasons:
        raise _refuse(reasons, stated.commit, read.key_id)
    return VerifiedReceipt(
        commit=stated.commit,
        result=stated.result,
        key_id=read.key_id,
        key_from=key_from,
        statement=read.statement,
        does_not_prove=NOT_PROVEN,
    )


def _list_keys(rt: Runtime, request: VerifyReceipt) -> dict[str, tuple[PublicKey, str]]:
    """By their ids: the given key alone, else those that are pinned, and this user's own."""
    keys = rt.receipt_keys()
    if request.key is not UNSET:
        given = keys.read(request.key)
        return {given.key_id: (given, "given")}
    own = {one.key_id: (one, "own") for one in keys.list_own()}
    return own | {one.key_id: (one, "pinned") for one in keys.list_trusted()}


def _judge_signature(rt: Runtime, read: Read, key: PublicKey | None) -> list[Refusal]:
    if key is None:
        return ["unknown_key"]
    is_signed = rt.receipt_keys().is_signed_by(key, read.signed, read.signature)
    return [] if is_signed else ["bad_signature"]


def _judge_commit(stated: Stated, named: NamedCommit | None) -> list[Refusal]:
    if named is None:
        return ["unknown_commit"]
    is_same = (stated.commit, stated.tree) == (named.commit, named.tree)
    return [] if is_same else ["other_commit"]


def _refuse(reasons: list[Refusal], commit: str, key_id: str) -> Fault:
    return Fault(
        RECEIPT_REFUSED,
        " ".join(_SENTENCES[one] for one in reasons),
        details={"reasons": list(reasons), "commit": commit, "key_id": key_id},
        hint=_ASK_FOR_KEY if "unknown_key" in reasons else "",
    )


VERIFY = Operation(
    name="receipt.verify",
    effect="read",
    where="companion",
    summary="Verify offline that a receipt is complete, signed by a known key, and about this commit.",
    input=VerifyReceipt,
    output=VerifiedReceipt,
    perform=verify_receipt,
    shape=Shape(
        levels={"minimal": ("commit", "result", "key_id", "key_from"), "standard": None, "full": None},
        id_field="key_id",
        select="top",
        drop_order=("statement",),
        untrusted=("statement",),
    ),
    errors=(RECEIPT_REFUSED.code, "KEYRING_INVALID"),
)


# What a run proved about a commit, as one signed statement or as Markdown


MOST_SESSIONS = 50
"""That are looked at for the newest run of a project: of those with its name, and of all."""


_LINK = r"(https?://[A-Za-z0-9.-]+(:[0-9]+)?/)?[A-Za-z0-9._~%/@+=&?#,-]+"


class ExportReceipt(Input, frozen=True, kw_only=True):
    """Of which run, about which commit."""

    session: (
        Annotated[MintedId, Meta(description="A session; else the newest of this project.")] | UnsetType
    ) = UNSET
    commit: (
        Annotated[MintedId, Meta(description="About this commit; default HEAD.", max_length=256)] | UnsetType
    ) = UNSET
    exported_as: (
        Annotated[
            Literal["json", "markdown"],
            Meta(description="Signed, or ten lines for a pull request; default json."),
        ]
        | UnsetType
    ) = msgspec.field(default=UNSET, name="as")
    link: (
        Annotated[
            str,
            Meta(
                description="With markdown: where the signed receipt is, an address or a path.",
                max_length=500,
            ),
        ]
        | UnsetType
    ) = UNSET
    project: ProjectPath | UnsetType = UNSET


class ExportedReceipt(Answer, frozen=True, kw_only=True):
    """The receipt, and what it says."""

    session_id: str
    run_id: str
    exported_as: str = msgspec.field(name="as")
    commit: str
    result: str
    """PASSED, FAILED, or WARNED where no check ran on the files of the commit, or something is in doubt."""
    is_clean: bool
    """The checks ran on exactly the files of the commit, and the run last saw just these."""
    key_id: str
    """Empty: Markdown is not signed."""
    content: Any = UNSET
    """Left out where it went into a file."""
    path: str | UnsetType = UNSET
    bytes: int | UnsetType = UNSET
    sha256: str | UnsetType = UNSET


def export_receipt(rt: Runtime, request: ExportReceipt) -> ExportedReceipt:
    """Nothing is stored, except the key where there was none.

    Raises Fault CONTEXT_MISSING, SESSION_NOT_FOUND, VALIDATION_ERROR for a commit that is not there, and
    E_CONFIG without the extra.
    """
    exported = export_in_chunks(rt, request)
    content = b"".join(exported.chunks).decode()
    return msgspec.convert({**exported.facts, "content": content}, ExportedReceipt)


def export_in_chunks(rt: Runtime, request: ExportReceipt) -> Chunked:
    """The same without the content, and the content as the bytes of its file."""
    require_local(rt)
    if request.link is not UNSET and request.exported_as != "markdown":
        problem = {
            "param": "link",
            "problem": "only Markdown has a link",
            "expected": "as markdown, or no link",
        }
        raise Fault(VALIDATION_ERROR, "link: only Markdown has a link.", details={"problems": [problem]})
    project = project_of(rt, request.project)
    session, run = _find_run(rt, request, project)
    require_healthy(session)
    named = find_commit(rt, project, "HEAD" if request.commit is UNSET else request.commit)
    subject = _describe_subject(rt, session.history, run, project, named)
    base = load_pinned_workflow(rt.log, run.workflow_hash).base
    statement = state_run(session.history, run, base, subject, rt.clock.now(), __version__)
    statement = _redact(rt, statement)
    facts: dict[str, Json] = {
        "session_id": session.history.session_id,
        "run_id": run.run_id,
        "commit": named.commit,
        "result": statement["predicate"]["result"],
        "is_clean": statement["predicate"]["handrailRun"]["isClean"],
    }
    if request.exported_as == "markdown":
        content = write_markdown(statement, "" if request.link is UNSET else request.link).encode()
        return Chunked(facts={**facts, "as": "markdown", "key_id": ""}, chunks=iter((content,)))
    payload = canonical_bytes(statement)
    signed = rt.receipt_keys().sign(encode_for_signing(payload))
    content = write_envelope(payload, signed.key.key_id, signed.signature)
    return Chunked(facts={**facts, "as": "json", "key_id": signed.key.key_id}, chunks=iter((content,)))


def _find_run(rt: ReadPorts, request: ExportReceipt, project: str) -> tuple[Session, Run]:
    if request.session is not UNSET:
        session = find_session(rt, request.session)
        run_id = choose_run(session.history)
        if run_id is not None:
            return session, session.history.runs[run_id]
        require_healthy(session)  # what cannot be read may hold one
    else:
        for session_id in _list_nearest(rt, project):
            rt.interruptions.end_here()
            try:
                read = read_session(rt.log, session_id)
            except Fault as fault:
                pass_over(fault)
                continue
            run_id = None if read is None else choose_run(read.history)
            if read is None or run_id is None:
                continue
            run = read.history.runs[run_id]
            if run.project is not None and is_project(rt.workspace, run.project, project):
                return read, run
    raise Fault(
        CONTEXT_MISSING,
        "There is no run to make a receipt of.",
        details={"missing": ["session"]},
        hint="Name a session of this project: --session ID.",
        next_call=NextCall(operation="session.list", params={}),
    )


def _list_nearest(rt: ReadPorts, project: str) -> list[SessionId]:
    """The latest sessions of projects that have the name of this one, then the latest of all."""
    name = encode_project(project).name

    def find(sessions: Sessions) -> list[SessionId]:
        latest = [stamp.session_id for stamp in sessions.latest(MOST_SESSIONS)[:MOST_SESSIONS]]
        listed = sessions.filtered([facet("project", name)])
        named = (one.session_id for one in listed if sessions.facts(one.session_id).project == name)
        return list(dict.fromkeys([*islice(named, MOST_SESSIONS), *latest]))

    return ask_sessions(rt, find)


def _describe_subject(rt: Runtime, history: History, run: Run, project: str, named: NamedCommit) -> Subject:
    committed = Tree(head=named.commit, entries=(), tree_id="")
    runs = [run, *(part for _, part in list_all_parts(history, run))]
    receipts = [held for one in runs for held in list_receipts(history, one.run_id)]
    trees = dict.fromkeys(held.fact.tree_after for held in receipts)
    tips = [history.nodes[run_graph(history, one.run_id).preferred_tip] for one in runs]
    seen = [(tip, find_last_seen(history, tip.node_id)) for tip in tips]
    looks = [(_find_time(history, tip, one), one) for tip, one in seen if one is not None]
    _, last = max(looks, key=lambda look: look[0], default=(0, None))
    first = find_baseline(history, tips[0].node_id)
    marks = {} if first is None else first.fact.apart or {}
    sparse = [name for name, mark in marks.items() if mark == "sparse"]
    is_seen = last is not None and not is_imported(history, last.index)
    turns = {one: turn for tip in tips for one, turn in find_turns(rt, history, tip, project).items()}
    return Subject(
        project=encode_project(project).name,
        commit=named.commit,
        tree=named.tree,
        differing={
            tree: _list(_compare(rt, history, project, tree, committed), sparse) for tree in trees if tree
        },
        tests=_list_tests(rt, project, "" if first is None else first.fact.head, committed),
        turns=turns,
        approved=list_approved(rt, run, project),
        environments=list_environments(rt, project),
        last=_list(_compare(rt, history, project, last.fact.tree_id, committed), sparse)
        if last and is_seen
        else None,
    )


def _find_time(history: History, tip: Node, tree: RecordedTree) -> int:
    """When the files of a tree were last seen: by the report that led to the tip, or when it was recorded."""
    judged = history.evidence.get(tip.node_id)
    is_judged = judged is not None and judged.tree == tree.fact.tree_id
    return max(tip.index, tree.index) if is_judged else tree.index


def _list_tests(rt: ReadPorts, project: str, head: str, committed: Tree) -> tuple[str, ...]:
    """The tests of a commit that an earlier one has otherwise; none where that is not known."""
    if head in ("", committed.head):
        return ()
    found = rt.worktree().compare(project, Tree(head=head, entries=(), tree_id="-"), committed)
    return () if isinstance(found, Unseen) else tuple(filter(is_test_file, _list(found) or ()))


def _compare(rt: ReadPorts, history: History, project: str, tree_id: str, other: Tree) -> Changes | None:
    """What differs between the files of a receipt and other ones; None: nobody can tell."""
    own = find_files(rt, history, tree_id)
    found = None if own is None else rt.worktree().compare(project, own, other)
    return found if isinstance(found, Changes) else None


def _list(found: Changes | None, beside: Sequence[str] = ()) -> tuple[str, ...] | None:
    """What differs, but for what the checkout never had."""
    return None if found is None else tuple(sorted({*found.changed, *found.arrived}.difference(beside)))


def _redact(rt: ReadPorts, value: Any) -> Any:
    """The statement without any secret that this process knows: it leaves the machine."""
    text = rt.secrets.redact_text(msgspec.json.encode(value).decode())
    return msgspec.json.decode(text)


EXPORT = Operation(
    name="receipt.export",
    effect="read",
    where="companion",
    summary="Export a signed receipt of what a run proved about a commit.",
    input=ExportReceipt,
    output=ExportedReceipt,
    perform=export_receipt,
    chunked=export_in_chunks,
    shape=Shape(
        levels={
            "minimal": ("session_id", "as", "commit", "result", "is_clean", "key_id"),
            "standard": None,
            "full": None,
        },
        id_field="session_id",
        select="top",
        drop_order=("content",),
        untrusted=("content",),
    ),
    value_rules={
        "link": ValueRule(
            fits=lambda given: re.fullmatch(_LINK, given) is not None,
            problem="is no place of a receipt",
            expected="an address of http or https, or a path without blanks",
        )
    },
    errors=("CONTEXT_MISSING", "SESSION_NOT_FOUND", "SESSION_NOT_HEALTHY", "KEYRING_INVALID"),
)
