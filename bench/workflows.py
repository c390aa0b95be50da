"""How long a listing of 1 000 workflow files and the largest bundled compilation take, beside `json.loads`.

Run: python bench/workflows.py
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable

from handrail.host.workflow_library import DirectoryLibrary, list_bundled_files
from handrail.workflows.catalog import build_catalog
from handrail.workflows.compiling.compilation import Surroundings
from handrail.workflows.compiling.compiler import compile_workflow
from handrail.workflows.model import SourceWorkflow
from handrail.workflows.reading.reader import read_workflow

FILES = 1_000
REPEATS = 7


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        home, project = os.path.join(place, "home"), os.path.join(place, "project")
        contents = write_files(os.path.join(project, ".handrail", "workflows"))
        library = DirectoryLibrary(home, {})
        size = sum(map(len, contents))
        floor = best_ms(lambda: [json.loads(content) for content in contents])
        cold = best_ms(lambda: build_catalog(library.files(project)), repeats=1)
        warm = best_ms(lambda: build_catalog(library.files(project)))
    print(f"{FILES} files, {size // 1000} KB")
    print(f"{'':28}{'ms':>9}{'x json.loads':>14}")
    for name, took in (("json.loads of all", floor), ("list, cold", cold), ("list, warm", warm)):
        print(f"{name:28}{took:>9.1f}{took / floor:>14.1f}")
    print_compilation()


def write_files(directory: str) -> list[bytes]:
    """Bundled workflows again and again under ids of their own, so that sizes are real ones."""
    os.makedirs(directory)
    models = [json.loads(file.decoded) for file in list_bundled_files()]
    contents = []
    for number in range(FILES):
        document = models[number % len(models)] | {"id": f"bench.w{number}", "kind": "workflow"}
        contents.append(json.dumps(document, indent=2).encode())
        with open(os.path.join(directory, f"w{number}.json"), "wb") as file:
            file.write(contents[-1])
    return contents


def print_compilation() -> None:
    files = list_bundled_files()
    sources = [(file, read(file.decoded)) for file in files]
    routines = tuple(source for _, source in sources if source.kind == "routine")
    around = Surroundings(routines=routines)
    file, source = max(sources, key=lambda pair: len(pair[0].decoded))
    floor = best_ms(lambda: json.loads(file.decoded), repeats=50)
    took = best_ms(lambda: compile_workflow(source, around), repeats=50)
    reading = best_ms(lambda: read_workflow(file.decoded), repeats=50)
    print(f"\n{source.id}, {len(file.decoded) // 1000} KB")
    for name, each in (("json.loads", floor), ("read and check", reading), ("compile", took)):
        print(f"{name:28}{each:>9.2f}{each / floor:>14.1f}")


def read(content: bytes) -> SourceWorkflow:
    source = read_workflow(content).workflow
    assert source is not None, "the bundled workflows are sound"
    return source


def best_ms(function: Callable[[], object], repeats: int = REPEATS) -> float:
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
    return best * 1000


if __name__ == "__main__":
    main()
