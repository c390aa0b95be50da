"""What the rules promise about the values of a run: whose they are, and what they are called."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES: tuple[Promise, ...] = (
    Promise(
        "values.owners",
        source="trust, section 1",
        says="No weaker word replaces a stronger one: context, an action's result, an option, a person.",
    ),
    Promise(
        "values.one-name",
        source="trust, section 1",
        says="A context key is a plain name and no loop variable; a path is refused with the object meant.",
    ),
)
