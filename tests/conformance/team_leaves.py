"""The leaves about teams, on a database of their own: a workspace with an owner, a member and an agent."""

from __future__ import annotations

from typing import LiteralString

import psycopg

from tests.conformance.damage import Damage, Names
from tests.conformance.forked import ForkedTool
from tests.conformance.leaf_forms import Leaf, says, words, wrong

_AWAY = "--store postgresql://127.0.0.1:1/away"
_STORE = "--store TEAM_STORE"
_ORIGIN = "--origin https://handrail.example.com"


def changed(statement: LiteralString) -> Damage:
    """Somebody does this to the database of the team."""

    def damage(tool: ForkedTool, names: Names) -> None:
        with psycopg.connect(names["TEAM_STORE"], autocommit=True) as link:
            link.execute(statement)

    return damage


TEAM_LEAVES: dict[str, Leaf] = {
    "team init": Leaf(
        line=words(f"team init {_STORE} --name second"),
        key=("--request-id", "second"),
        further=(words(f"team init {_STORE} --name third {_ORIGIN} --request-id third"),),
        ways={"E_CONFLICT": says(f"team init {_STORE} --request-id again")},
    ),
    "team invite": Leaf(
        line=words(f"team invite Dora {_STORE}"),
        key=("--request-id", "dora"),
        further=(
            words(f"team invite Emil {_STORE} --role viewer --workspace main {_ORIGIN} --request-id emil"),
        ),
        ways={"E_NOT_FOUND": says(f"team invite Dora {_STORE} --workspace nowhere --request-id k")},
    ),
    "team members": Leaf(
        line=words(f"team members {_STORE}"),
        further=(words(f"team members {_STORE} --workspace main"),),
        ways={"E_NOT_FOUND": says(f"team members {_STORE} --workspace nowhere")},
    ),
    "team set": Leaf(
        line=words(f"team set Ben {_STORE} --role admin"),
        further=(
            words(f"team set Ben {_STORE} --workspace main --remove --dry-run"),
            words(f"team set Ben {_STORE} --erase --dry-run"),
        ),
        ways={
            "E_NOT_FOUND": says(f"team set Nobody {_STORE} --role admin --dry-run"),
            "E_CONFLICT": says(f"team set Ana {_STORE} --remove --dry-run"),
        },
    ),
    "team reset": Leaf(
        line=words(f"team reset Ben {_STORE}"),
        key=("--request-id", "ben"),
        further=(words(f"team reset Ana {_STORE} --workspace main {_ORIGIN} --request-id ana"),),
        ways={"E_NOT_FOUND": says(f"team reset Nobody {_STORE} --request-id k")},
    ),
    "team audit": Leaf(
        line=words(f"team audit {_STORE}"),
        further=(words(f"team audit {_STORE} --workspace main --limit 5"),),
        ways={"E_NOT_FOUND": says(f"team audit {_STORE} --workspace nowhere")},
    ),
    "team workspace create": Leaf(
        line=words(f"team workspace create payments {_STORE}"),
        key=("--request-id", "payments"),
        ways={"E_CONFLICT": says(f"team workspace create main {_STORE} --request-id k")},
    ),
    "team workspace list": Leaf(line=words(f"team workspace list {_STORE}")),
    "team token create": Leaf(
        line=words(f"team token create builder-4 {_STORE} --account Ana"),
        key=("--request-id", "b4"),
        further=(
            words(
                f"team token create builder-5 {_STORE} --account Ben --workspace main --machine laptop-8"
                " --read-only --days 7 --request-id b5"
            ),
        ),
        ways={"E_NOT_FOUND": says(f"team token create builder-4 {_STORE} --account Nobody --request-id k")},
    ),
    "team token list": Leaf(
        line=words(f"team token list {_STORE}"),
        further=(words(f"team token list {_STORE} --workspace main"),),
        ways={"E_NOT_FOUND": says(f"team token list {_STORE} --workspace nowhere")},
    ),
    "team token revoke": Leaf(
        line=words(f"team token revoke builder-3 {_STORE}"),
        further=(words(f"team token revoke {_STORE} --workspace main --machine laptop-7 --dry-run"),),
        ways={"E_NOT_FOUND": says(f"team token revoke nothing {_STORE} --dry-run")},
    ),
}

for _path, _leaf in TEAM_LEAVES.items():
    _line = " ".join(_leaf.line).replace(_STORE, _AWAY)
    _gate = " ".join(_leaf.key) or ("--dry-run" if _path in ("team set", "team token revoke") else "")
    _leaf.ways.update(
        {
            "STORE_UNAVAILABLE": says(f"{_line} {_gate}"),
            "STORE_PERMISSION_DENIED": wrong(changed("REVOKE ALL ON handrail.workspaces FROM CURRENT_USER")),
            "STORE_IO_ERROR": wrong(changed("ALTER TABLE handrail.workspaces RENAME TO somewhere_else")),
            "STORE_UNSUPPORTED_VERSION": wrong(
                changed("INSERT INTO handrail.schema_versions VALUES (10000)")
            ),
        }
    )

_HERE = "https://handrail.example.com"

TEAM_LEAVES |= {
    "logout": Leaf(line=words("logout"), further=(words(f"logout {_HERE}"),)),
    "whoami": Leaf(line=words("whoami")),
    "team link": Leaf(
        line=words(f"team link --server {_HERE}"),
        further=(words(f"team link --server {_HERE} --workspace payments --dry-run"),),
    ),
    "team unlink": Leaf(line=words("team unlink")),
}
