"""The version of this build. Pure."""

__version__ = "0.1.0"
