"""The commands of a team: `handrail team …`."""

from __future__ import annotations

from tools.commands.rows import Row, Spelling

_STORE = Spelling(field="store", value="URI", text="The database of the team; HANDRAIL_STORE by default.")
_NAME = Spelling(field="name", position=1, is_required=True, kind="text", value="NAME")
_MEMBER = Spelling(field="member", position=1, is_required=True, kind="text", value="ACCOUNT")
_URI = "postgresql://handrail@db/handrail"

_URL = "https://handrail.example.com"

ROWS = (
    Row(
        path="login",
        operation="team.login",
        spellings=(Spelling(field="url", position=1, kind="text", value="URL"),),
        examples=(f"handrail login {_URL}", f"handrail login {_URL} --resume"),
    ),
    Row(
        path="logout",
        operation="team.logout",
        spellings=(Spelling(field="url", position=1, kind="text", value="URL"),),
        examples=(f"handrail logout {_URL}",),
    ),
    Row(path="whoami", operation="team.whoami", examples=("handrail whoami",)),
    Row(
        path="team link",
        operation="team.link",
        examples=(
            f"handrail team link --server {_URL} --workspace payments --dry-run --compact",
            f"handrail team link --server {_URL} --workspace payments --confirm CONFIRM_TOKEN --compact",
        ),
    ),
    Row(
        path="team unlink",
        operation="team.unlink",
        examples=(
            "handrail team unlink --dry-run --compact",
            "handrail team unlink --confirm CONFIRM_TOKEN --compact",
        ),
    ),
    Row(
        path="team init",
        operation="team.init",
        spellings=(_STORE,),
        needs=("psycopg",),
        examples=(f"handrail team init --name payments --store {_URI} --origin {_URL} --request-id first",),
    ),
    Row(
        path="team invite",
        operation="team.invite",
        spellings=(_NAME, _STORE),
        needs=("psycopg",),
        examples=(f"handrail team invite Ana --role member --store {_URI} --request-id ana",),
    ),
    Row(
        path="team members",
        operation="team.members",
        spellings=(_STORE,),
        columns=("name", "role", "state", "id"),
        needs=("psycopg",),
        examples=(f"handrail team members --store {_URI}",),
    ),
    Row(
        path="team set",
        operation="team.set_member",
        spellings=(_MEMBER, _STORE),
        needs=("psycopg",),
        examples=(
            f"handrail team set Ben --role admin --store {_URI} --dry-run",
            f"handrail team set Ben --remove --store {_URI} --dry-run",
            f"handrail team set Ben --remove --store {_URI} --confirm CONFIRM_TOKEN",
            f"handrail team set Ben --erase --store {_URI} --dry-run",
        ),
    ),
    Row(
        path="team reset",
        operation="team.reset",
        spellings=(_MEMBER, _STORE),
        needs=("psycopg",),
        examples=(f"handrail team reset Ana --store {_URI} --request-id ana-again",),
    ),
    Row(
        path="team audit",
        operation="team.audit",
        spellings=(_STORE,),
        columns=("at", "who", "command", "about", "code"),
        needs=("psycopg",),
        examples=(f"handrail team audit --store {_URI} --limit 20",),
    ),
    Row(
        path="team workspace create",
        operation="team.new_workspace",
        spellings=(_NAME, _STORE),
        needs=("psycopg",),
        examples=(f"handrail team workspace create payments --store {_URI} --request-id payments",),
    ),
    Row(
        path="team workspace list",
        operation="team.workspaces",
        spellings=(_STORE,),
        columns=("name", "role", "id"),
        needs=("psycopg",),
        examples=(f"handrail team workspace list --store {_URI}",),
    ),
    Row(
        path="team token create",
        operation="team.new_token",
        spellings=(_NAME, _STORE),
        raw="bearer",
        needs=("psycopg",),
        examples=(f"handrail team token create builder-3 --account Ana --store {_URI} --request-id b3",),
    ),
    Row(
        path="team token list",
        operation="team.tokens",
        spellings=(_STORE,),
        columns=("name", "owner", "state", "machine", "used_at", "id"),
        needs=("psycopg",),
        examples=(f"handrail team token list --store {_URI}",),
    ),
    Row(
        path="team token revoke",
        operation="team.revoke_token",
        spellings=(Spelling(field="token", position=1, kind="text", value="TOKEN_ID|NAME"), _STORE),
        needs=("psycopg",),
        examples=(
            f"handrail team token revoke builder-3 --store {_URI} --dry-run",
            f"handrail team token revoke --machine laptop-7 --store {_URI} --dry-run",
            f"handrail team token revoke --machine laptop-7 --store {_URI} --confirm CONFIRM_TOKEN",
        ),
    ),
)
