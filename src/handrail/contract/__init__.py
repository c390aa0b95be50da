"""How every answer looks on every surface. Pure."""
