"""Which files hold credentials, judged by their names. Pure.

Such a file is listed as changed, like any other. Handrail never quotes it, compares its text or
copies it.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

_NAMES = (
    *(".env*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "credentials*"),
    *(".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".htpasswd", ".vault-token"),
    *(".git-credentials", ".dockercfg", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"),
)
_FOLDERS = frozenset({".ssh", ".aws", ".azure", ".gnupg"})
_PLACES = (".kube/config", ".docker/config.json", ".config/gh/hosts.yml")
_SOURCES = (".py", ".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".go", ".rs", ".java")
"""Suffixes of code: a module called `credentials.py` says where credentials are, and holds none."""


def holds_credentials(path: str) -> bool:
    """Whether the file at this path, with `/` between its names, holds credentials."""
    *folders, name = path.lower().split("/")
    if not _FOLDERS.isdisjoint(folders) or f"/{path.lower()}".endswith(tuple(f"/{one}" for one in _PLACES)):
        return True
    is_module = name.startswith("credentials") and name.endswith(_SOURCES)
    return not is_module and any(fnmatchcase(name, pattern) for pattern in _NAMES)
