"""Read the database password from a file that systemd passes to the service (`LoadCredential=`).

Handrail reads the file itself: libpq rejects a file that its group may read, and newer releases of systemd
show credentials with mode 0440.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

import psycopg
from psycopg import conninfo

from handrail.contract.catalogue import E_CONFIG
from handrail.contract.outcome import Fault
from handrail.host.private_files import content_of

FOLDER: Final = "CREDENTIALS_DIRECTORY"
"""Set by systemd. Other services cannot read the folder."""
NAME: Final = "database-password"
MOST_BYTES: Final = 4_096


def add_password(address: str, environment: Mapping[str, str]) -> str:
    """Return the address with the credential's password, if it has no password of its own.

    Raises Fault E_CONFIG if the credential exists but cannot be used.
    """
    path = os.path.join(environment.get(FOLDER, ""), NAME)
    if not environment.get(FOLDER) or not os.path.lexists(path):
        return address
    try:
        known = conninfo.conninfo_to_dict(address)
    except psycopg.Error:  # reported where it is used
        return address
    if known.get("password"):
        return address
    password = content_of(path, MOST_BYTES).decode("utf-8", "replace").rstrip("\r\n")
    if not password or len(password) > MOST_BYTES or "\n" in password or "\0" in password:
        raise Fault(
            E_CONFIG,
            f"The credential {NAME} cannot be used: it is empty, not one line, or may not be read.",
            details={"setting": NAME, "source": "file"},
            hint=f"Write the password alone into the file that LoadCredential={NAME}: names.",
        )
    return conninfo.make_conninfo(address, password=password)
