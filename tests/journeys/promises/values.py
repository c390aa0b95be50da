"""What the rules promise about the values of a run: whose they are, and what they are called."""

from __future__ import annotations

from tests.journeys.promises.promise import read_table

PROMISES = read_table(
    """
    trust, section 1
      values.owners: No weaker word replaces a stronger one: context, an action's result, an option, a
          person.
      values.one-name: A context key is a plain name and no loop variable; a path is refused with the object
          meant.
    """
)
