"""What stands beside the log in the database: keys, used tokens, audit, index, keeping and copying."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psycopg
import pytest

from handrail.contract.ids import SessionId
from handrail.contract.outcome import Fault
from handrail.contract.redaction import Secrets
from handrail.contract.tokens.workflow import CONFIRM, WORKFLOW
from handrail.event_log.files.log import FileLog
from handrail.event_log.files.session_index import FileSessionIndex
from handrail.host.keyring import FileKeyring
from handrail.host.process import SystemRandomness
from handrail.ports.process import AuditLine
from handrail.ports.store import CopyWay, Entry, IndexView, SessionIndex, StoreCheck
from handrail.runtime.runtime import NO_AUDIT
from handrail_team.store.beside_the_log import TeamAudit, TeamConfirmedTokens, TeamKeys
from handrail_team.store.database import Database
from handrail_team.store.keeper import TeamKeeper
from handrail_team.store.log import TeamLog
from handrail_team.store.session_index import TeamSessionIndex
from tests.conftest import KeptAudit
from tests.event_log.log_promises import A, B, C, append, blob, code_of, in_threads, keys, load, plan

LINE = AuditLine(
    at="2027-01-15T08:00:00.000Z",
    tool="cli",
    version="0.1.0",
    command="run.start",
    args={"secret": "pa55word"},
    account="tester",
    workspace="/project",
    effect="create",
)


@pytest.fixture
def held(database: str) -> Iterator[Database]:
    made = Database(database)
    yield made
    made.close()


def machine(held: Database, home: Path) -> TeamKeys:
    chance, secrets = SystemRandomness(), Secrets()
    return TeamKeys(held, chance, FileKeyring(str(home), chance, "", secrets), secrets)


@pytest.mark.thorough
def test_machines_share_the_run_key_and_keep_their_own(held: Database, tmp_path: Path) -> None:
    one, other = machine(held, tmp_path / "one"), machine(held, tmp_path / "other")

    assert one.verifying_keys(WORKFLOW) == ()
    assert one.signing_key(WORKFLOW) == other.signing_key(WORKFLOW)
    assert one.request_key() == other.request_key()
    assert one.signing_key(CONFIRM) != other.signing_key(CONFIRM)


@pytest.mark.thorough
def test_a_rotation_is_followed_elsewhere_and_happens_once(held: Database, tmp_path: Path) -> None:
    one, other = machine(held, tmp_path / "one"), machine(held, tmp_path / "other")
    before, version = one.signing_key(WORKFLOW), one.facts().version

    rotated = (one.rotate(version), other.rotate(version))

    fresh = machine(held, tmp_path / "third")
    assert rotated == (True, False)
    assert fresh.signing_key(WORKFLOW) != before
    assert fresh.verifying_keys(WORKFLOW)[1] == before
    assert other.facts() == one.facts()


@pytest.mark.thorough
def test_a_damaged_keyring_is_refused(held: Database, tmp_path: Path) -> None:
    one = machine(held, tmp_path / "one")
    one.signing_key(WORKFLOW)
    held.write(lambda link: link.execute("UPDATE handrail.keyring SET content = '{}' WHERE name = 'ring'"))

    assert code_of(lambda: machine(held, tmp_path / "x").signing_key(WORKFLOW)) == "KEYRING_INVALID"


def test_of_many_callers_one_claims_a_confirm_token(held: Database) -> None:
    tokens = TeamConfirmedTokens(held)
    claims: list[str] = []

    troubles = in_threads([lambda: claims.append(tokens.claim("f1", expires_at=10, now=5).state)] * 5)

    assert troubles == []
    assert sorted(claims) == ["already_used"] * 4 + ["claimed"]
    assert (tokens.is_used("f1"), tokens.is_used("f2")) == (True, False)


@pytest.mark.thorough
def test_long_expired_claims_are_forgotten(held: Database) -> None:
    tokens = TeamConfirmedTokens(held)
    for number in range(1_030):
        tokens.claim(f"f{number}", expires_at=number, now=0)

    tokens.claim("new", expires_at=10_000, now=9_000)

    assert [tokens.is_used(name) for name in ("f0", "f6", "f7", "f1029", "new")] == [
        *(False, False),
        *(True, True, True),
    ]


def test_audit_keeps_no_secrets_and_the_newest_months(held: Database, database: str) -> None:
    secrets = Secrets()
    secrets.register(b"pa55word")
    for month in ("2026-11", "2026-12", "2027-01"):
        line = msgspec.structs.replace(LINE, at=f"{month}-15T08:00:00.000Z")
        TeamAudit(held, secrets, NO_AUDIT).record(line, keep_months=2)

    with psycopg.connect(database) as link:
        rows = link.execute("SELECT month, line FROM handrail.audit ORDER BY month").fetchall()
    assert [row[0] for row in rows] == ["2026-12", "2027-01"]
    assert all(b"pa55word" not in row[1] and b"run.start" in row[1] for row in rows)


def test_refusals_without_a_database_are_noted_locally() -> None:
    local = KeptAudit()

    TeamAudit(Database("postgresql://127.0.0.1:1/none"), Secrets(), local).record(LINE, keep_months=2)

    assert local.lines == [LINE]


SAID = {A: "rename the widget in run_loop", B: "the widget-factory and the loop", C: "9f3a_x naming runs"}
ASKED = (
    ["widget"],
    ["widget-factory"],
    ["the", "loop"],
    ["run"],
    ["runs"],
    ["run_loop"],
    ["9f3a_x"],
    ["name"],
)


def test_a_search_finds_what_it_finds_beside_files(held: Database, tmp_path: Path) -> None:
    files = FileLog(str(tmp_path / "data"))
    log = TeamLog(held)
    for session_id in SAID:
        append(files, session_id, 0, plan("x:1"))
        append(log, session_id, 0, plan("x:1"))

    found = [answers_of(index) for index in (TeamSessionIndex(log), FileSessionIndex(files))]

    assert found[0] == found[1]
    assert found[0]["widget"] == {A}
    assert found[0]["runs"] == {C}


def _having(view: IndexView, words: list[str]) -> set[SessionId]:
    found = view.find([(word,) for word in words])
    return {one.stamp.session_id for one in found if not one.lacks_words}


def answers_of(index: SessionIndex) -> dict[str, set[SessionId]]:
    with index.open_view("form 1") as view:
        entries = [
            Entry(
                session_id=one.stamp.session_id,
                version=one.version,
                facts=b"facts",
                subjects=b"subjects",
                words=f" {SAID[one.stamp.session_id]} ",
            )
            for one in view.look()
        ]
        view.keep(entries)
    with index.open_view("form 1") as view:
        assert {one.facts for one in view.look()} == {b"facts"}
        assert view.subjects([A, SessionId("ses_none")]) == {A: b"subjects"}
        return {" ".join(words): _having(view, words) for words in ASKED}


PARTS = ("'", "\\", "it's", "a\\b", "*", "ö", "ß", "c:", ":*", "ab", "x", "no such", " ", "ses_", "01")
TEXTS = {A: "it's a\\b ö*", B: "größe c:* xab", C: "plain xx"}


def test_search_finds_any_part_of_a_text(held: Database) -> None:
    """Any part of a text is found and what lacks it is left out."""
    log = TeamLog(held)
    for session_id in TEXTS:
        append(log, session_id, 0, plan("x:1"))
    with TeamSessionIndex(log).open_view("form") as view:
        unknown = [one.stamp.session_id for one in view.find([("said",)], ["zzz"])]
        view.keep(
            [
                Entry(
                    session_id=one.stamp.session_id,
                    version=one.version,
                    facts=b"facts",
                    subjects=b"",
                    words=" said " if one.stamp.session_id == C else " ",
                    about=TEXTS[one.stamp.session_id],
                )
                for one in view.look()
            ]
        )
        found = {
            part: {one.stamp.session_id: one.lacks_words for one in view.find([("said",)], [part])}
            for part in PARTS
        }
        pages = [*view.look(1), *view.look(1, view.look(1)[-1].stamp)]
        everything = list(view.look())

    assert set(unknown) == set(TEXTS), "what the index does not know is not left out"
    for part, given in found.items():
        assert given == {C: False} | {one: True for one, text in TEXTS.items() if part in text and one != C}
    assert pages == everything[:2]
    assert view.count() == len(everything) == 3


def test_entry_counts_until_session_or_form_changes(held: Database) -> None:
    log = TeamLog(held)
    for session_id in SAID:
        append(log, session_id, 0, plan("x:1"))
    answers_of(TeamSessionIndex(log))

    append(log, A, 1, plan("x:2"))

    with TeamSessionIndex(log).open_view("form 1") as view:
        assert [(one.stamp.session_id, one.facts) for one in view.look()] == [
            *((A, None), (C, b"facts")),
            (B, b"facts"),
        ]
    with TeamSessionIndex(log).open_view("form 2") as view:
        assert {one.facts for one in view.look()} == {None}
        assert view.with_word("widget") == frozenset()


@pytest.fixture
def keeper(held: Database, tmp_path: Path) -> TeamKeeper:
    log = TeamLog(held)
    append(log, A, 0, plan("a:1", "a:2"), [blob(b"only of A"), blob(b"shared")])
    append(log, A, 2, plan("a:3"))
    append(log, B, 0, plan("b:1"), [blob(b"shared")])
    return TeamKeeper(log, str(tmp_path / "data"))


def check(keeper: TeamKeeper) -> StoreCheck:
    *_, whole = keeper.check()
    assert isinstance(whole, StoreCheck)
    return whole


def test_a_sound_store_is_checked_and_measured(keeper: TeamKeeper) -> None:
    whole, usage = check(keeper), keeper.usage()

    assert (whole.sessions, whole.events, whole.blobs, whole.problems) == (2, 4, 2, ())
    assert [(one.session_id, one.events) for one in usage.sessions] == [(A, 3), (B, 1)]
    assert (usage.blobs, usage.blob_bytes, usage.leftover_blobs) == (2, 15, 0)


DAMAGE = {
    "UPDATE handrail.events SET body = '{\"key\":\"a:x\"}' WHERE dedupe_key = 'a:2'": "digest_mismatch",
    "DELETE FROM handrail.events WHERE dedupe_key = 'a:2'": "non_contiguous",
    "DELETE FROM handrail.events WHERE dedupe_key = 'a:3'": "history_lost",
    "UPDATE handrail.sessions SET digest = repeat('0', 64) WHERE head = 3": "digest_mismatch",
    "UPDATE handrail.blobs SET content = 'other' WHERE content = 'shared'": "digest_mismatch",
    "DELETE FROM handrail.blobs WHERE content = 'shared'": "missing_blob",
}


@pytest.mark.parametrize("statement", DAMAGE)
@pytest.mark.thorough
def test_every_damage_is_named_and_nothing_is_added_to_it(
    keeper: TeamKeeper, held: Database, statement: str
) -> None:
    held.write(lambda link: link.execute(statement.encode()))

    (problem,) = check(keeper).problems

    assert problem.reason == DAMAGE[statement]
    if problem.what == "session":
        log = TeamLog(held)
        loaded = load(log, A)
        assert loaded.health.reason == DAMAGE[statement]
        assert keys(loaded) == ["a:1", "a:2", "a:3"][: loaded.head]
        with log.hold_existing(A, 1000) as hold:
            hold.load()
            assert code_of(lambda: hold.append(3, plan("a:4"))) == "SESSION_NOT_HEALTHY"


def age(held: Database, statement: str) -> None:
    held.write(lambda link: link.execute(statement.encode()))


def test_collection_removes_old_sessions_and_their_blobs(keeper: TeamKeeper, held: Database) -> None:
    age(
        held,
        f"UPDATE handrail.sessions SET stamp = stamp - 100::bigint * 86400000000000 WHERE session_id = '{A}'",
    )
    age(held, "UPDATE handrail.blobs SET touched = now() - interval '2 hours'")

    kept = keeper.plan_removal(90, keep=[A])
    planned = keeper.plan_removal(90)
    removed = keeper.remove(planned)

    assert (kept.sessions, kept.blobs) == ((), ())
    assert [one.session_id for one in planned.sessions] == [A]
    assert planned.blobs == (blob(b"only of A").ref,)
    assert (removed.sessions, removed.kept, removed.blobs) == ((A,), (), 1)
    log = TeamLog(held)
    assert (log.load(A), keys(log.load(B)), check(keeper).problems) == (None, ["b:1"], ())


def test_young_blob_stays_and_a_renewed_one_is_young(keeper: TeamKeeper, held: Database) -> None:
    log = TeamLog(held)
    age(held, "DELETE FROM handrail.session_blobs")
    assert keeper.plan_removal(90).blobs == ()
    age(held, "UPDATE handrail.blobs SET touched = now() - interval '2 hours'")
    assert len(keeper.plan_removal(90).blobs) == 2

    append(log, B, 1, plan("b:2"), [blob(b"shared")])
    keeper.remove(keeper.plan_removal(90))

    assert log.get_blob(blob(b"shared").ref) == b"shared"
    assert code_of(lambda: log.get_blob(blob(b"only of A").ref)) == "STORE_CORRUPT"


@pytest.mark.thorough
def test_a_session_that_grew_or_is_held_is_not_removed(keeper: TeamKeeper, held: Database) -> None:
    log = TeamLog(held)
    (planned,) = keeper.sessions_to_remove([A, C])
    with log.hold_existing(A, 1000):
        assert code_of(lambda: keeper.remove_session(planned, 20)) == "SESSION_LOCKED"
        with pytest.raises(Fault):
            keeper.wait_for_writers([A], 20)
    append(log, A, 3, plan("a:4"))

    grown = keeper.remove_session(planned, 1000)
    (now,) = keeper.sessions_to_remove([A])
    freed = keeper.remove_session(now, 1000)

    assert (grown, freed) == (None, now.bytes)
    assert log.load(A) is None
    assert keeper.sessions_to_remove([A]) == ()


def digest_of_files(data: Path) -> str:
    """Every byte of sessions and blobs, but the locks."""
    kept = [path for part in ("sessions", "blobs") for path in (data / part).rglob("*")]
    files = sorted(path for path in kept if path.is_file() and path.name != "lock")
    parts = [path.relative_to(data).as_posix().encode() + path.read_bytes() for path in files]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def test_a_copy_into_the_database_and_back_has_the_same_bytes(held: Database, tmp_path: Path) -> None:
    files = FileLog(str(tmp_path / "one" / "data"))
    append(files, A, 0, plan("a:1", "a:2"), [blob(b"first"), blob(b"second")])
    append(files, A, 2, plan("a:3"), [blob(b"second")])
    append(files, B, 0, plan("b:1"))
    keeper = TeamKeeper(TeamLog(held), str(tmp_path / "own" / "data"))
    there, back = CopyWay(source=str(tmp_path / "one")), CopyWay(target=str(tmp_path / "two"))

    for way in (there, back):
        for session in keeper.plan_copy(way):
            keeper.copy_session(way, session)

    assert [one.missing for one in keeper.plan_copy(there)] == [0, 0]
    assert digest_of_files(tmp_path / "two" / "data") == digest_of_files(tmp_path / "one" / "data")
    assert load(TeamLog(held), A) == load(files, A)


def test_a_copy_refuses_another_session_of_the_same_name(keeper: TeamKeeper, tmp_path: Path) -> None:
    append(FileLog(str(tmp_path / "one" / "data")), A, 0, plan("other:1"))
    way = CopyWay(source=str(tmp_path / "one"))

    (planned,) = keeper.plan_copy(way)

    assert planned.trouble == "STORE_TARGET_NOT_EMPTY"
