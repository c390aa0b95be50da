"""Loads what watches unittest when an interpreter starts, then the module of this name that it hides."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys


def _load_hidden() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    places = [path for path in sys.path if path and os.path.abspath(path) != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", places)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if os.environ.get("HANDRAIL_CASES"):
    importlib.import_module("handrail_cases").install()
_load_hidden()
