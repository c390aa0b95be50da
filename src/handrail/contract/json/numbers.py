"""Numbers as ECMAScript writes them, and which integers a reader with doubles keeps exactly. Pure."""

from __future__ import annotations

from math import isfinite

LARGEST_INTEGER = 2**53 - 1
"""The largest integer that I-JSON keeps (RFC 7493, 2.2); its negative is the smallest."""

_FIRST_WITH_EXPONENT = 10**21


def float_text(value: float) -> str:
    """Return ECMAScript's Number::toString: Python finds the same shortest digits but lays them out
    differently.

    Raises: ValueError for NaN and the infinities.
    """
    if not isfinite(value):
        raise ValueError
    mantissa, _, exponent = repr(value).partition("e")
    if not exponent:
        return mantissa.removesuffix(".0") if value else "0"  # RFC 8785: minus zero is zero
    power = int(exponent)
    sign = "-" if value < 0 else ""
    digits = mantissa.lstrip("-").replace(".", "")
    if 0 < power < 21:
        return sign + digits.ljust(power + 1, "0")
    if -7 < power < 0:
        return sign + "0." + "0" * (-power - 1) + digits
    return f"{mantissa}e{power:+d}"


def integer_text(value: int) -> str:
    """Return the digits, if a reader that uses doubles would write the same ones.

    A large double is written with all its digits and is read back as an integer, so those are
    accepted, too.

    Raises: ValueError for an integer that such a reader would round.
    """
    if -LARGEST_INTEGER <= value <= LARGEST_INTEGER:
        return str(value)
    if abs(value) < _FIRST_WITH_EXPONENT and float_text(float(value)) == str(value):
        return str(value)
    raise ValueError


def is_exact_integer(value: int) -> bool:
    """Whether `integer_text` accepts the integer."""
    try:
        integer_text(value)
    except ValueError:
        return False
    return True
