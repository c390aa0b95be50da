"""A store in a database proves its commits: the column of authentication lines, the key and the list."""

from __future__ import annotations

from pathlib import Path

import msgspec
import psycopg
import pytest

from handrail.event_log.files.log import FileLog
from handrail.event_log.files.store_key import StoreKey
from handrail.ports.log import Draft, Origin
from handrail.ports.store import CopyWay
from handrail_team.store.database import Database
from handrail_team.store.keeper import TeamKeeper
from handrail_team.store.log import TeamLog
from handrail_team.store.migrations import NEWEST, migrate
from handrail_team.store.store_key import TeamStoreKey
from tests.event_log.log_promises import A, B, append, draft, load, plan

FIRST = "be46c31aa7a909ca91d3dc6bd04932636c749ac9143e53f9cda5113cb980aed7"
"""The chain digest after `a:1` with the body `{"n":1}` in session A."""


def chance(count: int) -> bytes:
    return b"k" * count


def vouched(key: str) -> Draft:
    return msgspec.structs.replace(draft(key), vouched="needed")


def log_on(address: str, random: object = chance) -> TeamLog:
    database = Database(address)
    return TeamLog(database, key=TeamStoreKey(database, random))  # type: ignore[arg-type]


def ours(log: TeamLog | FileLog) -> list[bool]:
    return [record.is_ours for record in load(log, A).records]


def statement(address: str, text: str) -> list[tuple[object, ...]]:
    with psycopg.connect(address, autocommit=True) as link:
        link.execute("SELECT set_config('handrail.workspace', '=', false)")
        done = link.execute(text)
        return done.fetchall() if done.description else []


def test_a_commit_that_must_be_proven_has_a_line(database: str) -> None:
    log = log_on(database)
    append(log, A, 0, plan("a:1"))
    append(log, A, 1, [vouched("a:2"), draft("a:3")])

    rows = statement(database, "SELECT event_index, line IS NULL FROM handrail.events ORDER BY event_index")

    assert rows == [(0, True), (1, True), (2, False)]
    assert ours(log) == ours(log_on(database)) == [False, True, True]
    tail = log.load_since(A, 2)
    assert tail is not None
    assert [record.is_ours for record in tail.records] == [True]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE handrail.events SET line = repeat('0', 64) WHERE line IS NOT NULL",
        "UPDATE handrail.events SET commit_first = 0",
        "UPDATE handrail.keyring SET content = convert_to("
        "replace(convert_from(content, 'UTF8'), '6b6b', '6b6c'), 'UTF8') WHERE name = 'store_key'",
    ],
)
def test_a_changed_line_commit_or_key_proves_nothing(database: str, change: str) -> None:
    log = log_on(database)
    append(log, A, 0, plan("foreign:1"))
    append(log, A, 1, [vouched("a:2")])

    statement(database, change)

    if "keyring" in change:
        with pytest.raises(Exception, match="damaged"):
            ours(log_on(database))
    else:
        assert ours(log_on(database)) == [False, False]


def test_what_was_there_before_the_column_is_listed(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as link:
        migrate(link, NEWEST - 1)
    statement(database, f"INSERT INTO handrail.sessions VALUES ('{A}', '', 1, '{FIRST}', 5)")
    body = "INSERT INTO handrail.events VALUES ('{}', 0, 0, 'a:1', '{{\"n\":1}}', '{}')"
    statement(database, body.format(A, FIRST))
    log = log_on(database)
    assert log.origin(A, FIRST).listed > 1

    append(log, B, 0, plan("b:1"))

    again = log_on(database, lambda count: b"o" * count)
    assert again.origin(A, FIRST) == Origin(listed=1)
    assert again.origin(B, "") == Origin()
    keeper = TeamKeeper(again, "")
    assert (keeper.origin().listed, keeper.origin().is_adopted) == (1, False)
    keeper.adopt()
    assert log.origin(A, FIRST) == Origin(listed=1, is_adopted=True)


def test_lines_go_out_and_come_back_with_a_copy(database: str, tmp_path: Path) -> None:
    """What the files add in between is not ours; what the database wrote still is."""
    log = log_on(database)
    append(log, A, 0, [vouched("a:1")])
    keeper = TeamKeeper(log, "", key_of=lambda folder: StoreKey(folder, lambda count: b"f" * count))
    out = CopyWay(target=str(tmp_path / "out"))
    for session in keeper.plan_copy(out):
        keeper.copy_session(out, session)
    folder = str(tmp_path / "out" / "data")
    files = FileLog(folder, key=StoreKey(folder, lambda count: b"f" * count))
    assert ours(files) == [False]
    append(files, A, 1, [vouched("a:2")])

    back = CopyWay(source=str(tmp_path / "out"))
    for session in keeper.plan_copy(back):
        keeper.copy_session(back, session)

    assert ours(log_on(database)) == [True, False]
