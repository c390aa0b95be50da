"""Trees of files in a scratch directory, private like the store itself."""

from __future__ import annotations

import os
import shutil
from typing import Final

from tests.store_proof.crash_states import Tree

_MEMORY: Final = "/dev/shm"
"""States that are only read need no disk; most systems keep files in memory here."""


def write_tree(root: str, tree: Tree) -> None:
    """Make `root` hold exactly this tree. Only differences are written: many trees are nearly the same."""
    os.makedirs(root, 0o700, exist_ok=True)
    there = read_tree(root)
    for path in sorted(there, reverse=True):
        if path not in tree or (there[path] is None) != (tree[path] is None):
            (os.rmdir if there.pop(path) is None else os.unlink)(f"{root}/{path}")
    for path in sorted(tree):
        content = tree[path]
        if content is None and path not in there:
            os.mkdir(f"{root}/{path}", 0o700)
        elif content is not None and there.get(path) != content:
            _write(f"{root}/{path}", content)


def read_tree(root: str) -> Tree:
    """Everything below `root`."""
    tree: Tree = {}
    for folder, folders, files in os.walk(root):
        for name in folders:
            tree[os.path.relpath(f"{folder}/{name}", root)] = None
        for name in files:
            with open(f"{folder}/{name}", "rb") as file:
                tree[os.path.relpath(f"{folder}/{name}", root)] = file.read()
    return tree


def make_empty(root: str) -> str:
    """A new, empty directory of this name."""
    shutil.rmtree(root, ignore_errors=True)
    os.makedirs(root, 0o700)
    return root


def find_memory_directory(otherwise: str) -> str:
    """A directory for states that are only read."""
    return _MEMORY if os.path.isdir(_MEMORY) and os.access(_MEMORY, os.W_OK | os.X_OK) else otherwise


def _write(path: str, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(descriptor, content)
    finally:
        os.close(descriptor)
