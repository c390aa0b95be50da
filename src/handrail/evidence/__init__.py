"""What Handrail executed, and what follows from it. Pure."""
