"""`receipt.export`: what a run proved about the files of a commit, signed or as Markdown."""

from __future__ import annotations

import re
from itertools import islice
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import CONTEXT_MISSING, VALIDATION_ERROR
from handrail.contract.disclosure.fields import Shape
from handrail.contract.dsse import encode_for_signing, write_envelope
from handrail.contract.ids import SessionId
from handrail.contract.json.canonical import canonical_bytes
from handrail.contract.outcome import Answer, Fault, Json, NextCall
from handrail.contract.parameters import MintedId, ProjectPath
from handrail.contract.wording import quote
from handrail.engine.facts import encode_project
from handrail.engine.history import Run
from handrail.evidence.proof import ProofWord
from handrail.operations.checks.receipt_key import require_local
from handrail.operations.finding import find_session
from handrail.operations.same_project import is_project
from handrail.operations.stored_sessions import Sessions, ask_sessions, facet
from handrail.ports.trees import Revision
from handrail.projections.overview import choose_run
from handrail.projections.receipt_markdown import write_markdown
from handrail.projections.receipt_statement import Subject, TreeReceipt, read_statement, state_run
from handrail.runtime.damaged_sessions import pass_over
from handrail.runtime.operation import Chunked, Input, Operation, ValueRule
from handrail.runtime.runtime import ReadPorts, Runtime, project_of
from handrail.runtime.sessions import Session, read_session, require_healthy
from handrail.version import __version__

MOST_SESSIONS = 50
"""Most sessions that are read to find the newest run of a project: first those with its name, then all."""


_LINK = r"(https?://[A-Za-z0-9.-]+(:[0-9]+)?/)?[A-Za-z0-9._~%/@+=&?#,-]+"


class ExportReceipt(Input, frozen=True, kw_only=True):
    """The run that the receipt is about, and the commit."""

    session: (
        Annotated[MintedId, Meta(description="A session; else the newest of this project.")] | UnsetType
    ) = UNSET
    commit: (
        Annotated[MintedId, Meta(description="About its files; default HEAD.", max_length=256)] | UnsetType
    ) = UNSET
    exported_as: (
        Annotated[
            Literal["json", "markdown"],
            Meta(description="Signed, or Markdown for a pull request; default json."),
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
    """The receipt, and its statement."""

    session_id: str
    run_id: str
    exported_as: str = msgspec.field(name="as")
    tree: str
    """Git's id of the files that the receipt is about."""
    commit: str
    """The commit that has these files."""
    word: ProofWord
    sentence: str
    """What the word means here, as a sentence."""
    result: str
    """For readers of in-toto: PASSED for PROVED and KEPT, FAILED for FAILS, otherwise WARNED."""
    key_id: str
    """The key that signs; a Markdown receipt names it and is not signed itself."""
    content: Any = UNSET
    """Left out if it was written to a file."""
    path: str | UnsetType = UNSET
    bytes: int | UnsetType = UNSET
    sha256: str | UnsetType = UNSET


def export_receipt(rt: Runtime, request: ExportReceipt) -> ExportedReceipt:
    """Return the receipt. Nothing is stored, except a key if there was none.

    Raise Fault CONTEXT_MISSING, SESSION_NOT_FOUND, VALIDATION_ERROR for an unknown commit, and E_CONFIG
    without the extra.
    """
    exported = export_in_chunks(rt, request)
    content = b"".join(exported.chunks).decode()
    return msgspec.convert({**exported.facts, "content": content}, ExportedReceipt)


def export_in_chunks(rt: Runtime, request: ExportReceipt) -> Chunked:
    """Return the same without the content, and the content as the bytes of its file."""
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
    revision = _find_commit(rt, project, "HEAD" if request.commit is UNSET else request.commit)
    subject = Subject(project=encode_project(project).name, tree=revision.tree, commit=revision.commit)
    made = state_run(session.history, run, subject, rt.clock.now(), __version__)
    statement = _redact(rt, made)
    receipt = read_statement(statement)
    assert isinstance(receipt, TreeReceipt), "it was made just now"
    payload = canonical_bytes(statement)
    signed = rt.receipt_keys().sign(encode_for_signing(payload))
    as_markdown = request.exported_as == "markdown"
    facts: dict[str, Json] = {
        "session_id": session.history.session_id,
        "run_id": run.run_id,
        "as": "markdown" if as_markdown else "json",
        "tree": revision.tree,
        "commit": revision.commit,
        "word": receipt.run.word,
        "sentence": receipt.run.sentence,
        "result": receipt.result,
        "key_id": signed.key.key_id,
    }
    if as_markdown:
        place = "" if request.link is UNSET else request.link
        content = write_markdown(receipt, signed.key.key_id, place).encode()
    else:
        content = write_envelope(payload, signed.key.key_id, signed.signature)
    return Chunked(facts=facts, chunks=iter((content,)))


def _find_commit(rt: ReadPorts, project: str, ref: str) -> Revision:
    """Return the commit. Raise Fault VALIDATION_ERROR if the project's repository has no such commit."""
    found = rt.trees().resolve(project, ref)
    if isinstance(found, Revision):
        return found
    problem = {"param": "commit", "problem": "is no commit here", "expected": "a commit of the project"}
    raise Fault(
        VALIDATION_ERROR,
        f"There is no commit {quote(ref)} of this project here: {found.reason}.",
        details={"problems": [problem]},
        hint="A receipt is about the files of a commit: commit the work first, or fetch the commit.",
    )


def _find_run(rt: ReadPorts, request: ExportReceipt, project: str) -> tuple[Session, Run]:
    if request.session is not UNSET:
        session = find_session(rt, request.session)
        run_id = choose_run(session.history)
        if run_id is not None:
            return session, session.history.runs[run_id]
        require_healthy(session)  # the unreadable part may have the run
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
    """Return the latest sessions of projects that have the name of this one, then the latest of all."""
    name = encode_project(project).name

    def find(sessions: Sessions) -> list[SessionId]:
        latest = [stamp.session_id for stamp in sessions.latest(MOST_SESSIONS)[:MOST_SESSIONS]]
        listed = sessions.filtered([facet("project", name)])
        named = (one.session_id for one in listed if sessions.facts(one.session_id).project == name)
        return list(dict.fromkeys([*islice(named, MOST_SESSIONS), *latest]))

    return ask_sessions(rt, find)


def _redact(rt: ReadPorts, value: Any) -> Any:
    """Return the statement without any secret that this process knows, because it leaves the machine."""
    text = rt.secrets.redact_text(msgspec.json.encode(value).decode())
    return msgspec.json.decode(text)


OPERATION = Operation(
    name="receipt.export",
    effect="read",
    where="client",
    summary="Export a signed receipt of what a run proved about the files of a commit.",
    input=ExportReceipt,
    output=ExportedReceipt,
    perform=export_receipt,
    chunked=export_in_chunks,
    shape=Shape(
        levels={
            "minimal": ("session_id", "as", "tree", "commit", "word", "key_id"),
            "standard": None,
            "full": None,
        },
        id_field="session_id",
        select="top",
        drop_order=("content",),
        untrusted=("content", "sentence"),
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
