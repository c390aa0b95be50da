"""Names that people see: none looks like another one, hides a part of itself or stands for an id."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail_team.accounts.names import clean_name, fold_name, keep_name
from tests.cases import every_case
from tests.team.team_server import PASSPHRASE, Server


@every_case(
    "name",
    [
        "alice\n(you)",
        "\u0430lice",
        "ali\u200bce",
        "\u202eecila",
        "a\u0000",
        "\x1b[31mred",
        "acc_ec4eaedd89232ad2",
        "ACC_ec4eaedd89232ad2",
        "a" * 129,
        " ",
        "",
    ],
)
def test_what_hides_or_deceives_is_no_name(name: str) -> None:
    assert keep_name(name) == ""


@every_case(
    ("name", "kept"),
    [
        ("Ana", "Ana"),
        ("  Ana  Mayer ", "Ana Mayer"),
        ("Мария", "Мария"),
        ("山田 Taro", "山田 Taro"),
        ("Zoe\u0301", "Zo\u00e9"),
        ("builder-3", "builder-3"),
    ],
)
def test_names_that_people_have_are_kept(name: str, kept: str) -> None:
    assert keep_name(name) == kept


def test_names_that_read_alike_are_one() -> None:
    assert len({fold_name(one) for one in ("Ana", " ANA", "\uff21na", "ana")}) == 1


def test_of_a_name_that_a_provider_gives_is_kept_what_can_be() -> None:
    assert clean_name("Ana\nMayer") == "Ana Mayer"
    assert clean_name("\u0430lice") == ""


@pytest.mark.thorough
def test_the_door_takes_no_such_name_and_an_id_is_nobodys_name(team_database: str, tmp_path: Path) -> None:
    server = Server(team_database, tmp_path)
    workspace = server.workspace("main")
    owner, ben = server.join(workspace, "Ana", "owner"), server.join(workspace, "Ben")
    (bens,) = [one for one in owner.data("team.members")["items"] if one["name"] == "Ben"]

    refused = [
        server.sign_in("invitation", invitation=server.invite(workspace), name=name, passphrase=PASSPHRASE)
        for name in (bens["id"], "a\u0000")
    ]
    guessed = server.sign_in("passphrase", name="a\u0000", passphrase=PASSPHRASE)
    told = owner.call("team.set_member", member=bens["id"], role="viewer", dryRun=True)

    assert [one.status for one in (*refused, guessed)] == [400, 400, 400]
    assert told.status == 200
    assert ben.call("team.members").status == 200
