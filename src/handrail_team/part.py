"""What the store of teams brings to the program."""

from __future__ import annotations

from handrail.runtime.operation import Part

PART = Part(
    package="handrail_team",
    requirement="handrail[team]",
    operations={
        "team.init": "handrail_team.operations.init_team",
        "team.login": "handrail_team.operations.login",
        "team.logout": "handrail_team.operations.logout",
        "team.whoami": "handrail_team.operations.who_am_i",
        "team.link": "handrail_team.operations.link_project",
        "team.unlink": "handrail_team.operations.unlink_project",
        "team.admit": "handrail_team.operations.admit_machine",
        "team.invite": "handrail_team.operations.invite_member",
        "team.members": "handrail_team.operations.list_members",
        "team.set_member": "handrail_team.operations.set_member",
        "team.reset": "handrail_team.operations.reset_account",
        "team.new_workspace": "handrail_team.operations.new_workspace",
        "team.workspaces": "handrail_team.operations.list_workspaces",
        "team.new_token": "handrail_team.operations.new_token",
        "team.tokens": "handrail_team.operations.list_tokens",
        "team.revoke_token": "handrail_team.operations.revoke_token",
        "team.audit": "handrail_team.operations.list_audit",
    },
    adapters={
        "team_link": "handrail_team.client.link:TeamLink",
        "team_store": "handrail_team.store.open_store:TeamStore",
        "team_service": "handrail_team.service:TeamService",
        "team_directory": "handrail_team.accounts.directory:open_directory",
    },
)
