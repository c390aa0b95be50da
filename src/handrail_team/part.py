"""What the store of teams brings to the program."""

from __future__ import annotations

from handrail.runtime.operation import Part

PART = Part(
    package="handrail_team",
    requirement="handrail[team]",
    operations={
        "team.init": "handrail_team.operations.workspaces:INIT",
        "team.login": "handrail_team.operations.machines:LOGIN",
        "team.logout": "handrail_team.operations.machines:LOGOUT",
        "team.whoami": "handrail_team.operations.machines:WHOAMI",
        "team.link": "handrail_team.operations.machines:LINK",
        "team.unlink": "handrail_team.operations.machines:UNLINK",
        "team.admit": "handrail_team.operations.machines:ADMIT",
        "team.invite": "handrail_team.operations.members:INVITE",
        "team.members": "handrail_team.operations.members:MEMBERS",
        "team.set_member": "handrail_team.operations.members:SET_MEMBER",
        "team.reset": "handrail_team.operations.members:RESET",
        "team.new_workspace": "handrail_team.operations.workspaces:NEW_WORKSPACE",
        "team.workspaces": "handrail_team.operations.workspaces:WORKSPACES",
        "team.new_token": "handrail_team.operations.tokens:NEW_TOKEN",
        "team.tokens": "handrail_team.operations.tokens:TOKENS",
        "team.revoke_token": "handrail_team.operations.tokens:REVOKE_TOKEN",
        "team.audit": "handrail_team.operations.workspaces:AUDIT",
    },
    commands="handrail_team.commands",
    adapters={
        "team_link": "handrail_team.companion.link:CompanionLink",
        "team_store": "handrail_team.store.open_store:TeamStore",
        "team_door": "handrail_team.door:TeamDoor",
        "team_directory": "handrail_team.accounts.directory:open_directory",
    },
)
