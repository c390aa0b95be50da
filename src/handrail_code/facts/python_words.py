"""Python's own names, of every version and of Python 2 as well; and which files are Python. Pure.

They are listed because the interpreter that runs this is not the one that runs the source.
"""

from __future__ import annotations

from typing import Final

BUILTIN_NAMES: Final = frozenset(
    {
        *("ArithmeticError", "AssertionError", "AttributeError", "BaseException", "BaseExceptionGroup"),
        *("BlockingIOError", "BrokenPipeError", "BufferError", "BytesWarning", "ChildProcessError"),
        *("ConnectionAbortedError", "ConnectionError", "ConnectionRefusedError"),
        *("ConnectionResetError", "DeprecationWarning", "EOFError", "Ellipsis", "EncodingWarning"),
        *("EnvironmentError", "Exception", "ExceptionGroup", "FileExistsError", "FileNotFoundError"),
        *("FloatingPointError", "FutureWarning", "GeneratorExit", "IOError", "ImportError"),
        *("ImportWarning", "IndentationError", "IndexError", "InterruptedError", "IsADirectoryError"),
        *("KeyError", "KeyboardInterrupt", "LookupError", "MemoryError", "ModuleNotFoundError"),
        *("NameError", "NotADirectoryError", "NotImplemented", "NotImplementedError", "OSError"),
        *("OverflowError", "PendingDeprecationWarning", "PermissionError", "ProcessLookupError"),
        *("PythonFinalizationError", "RecursionError", "ReferenceError", "ResourceWarning"),
        *("RuntimeError", "RuntimeWarning", "StopAsyncIteration", "StopIteration", "SyntaxError"),
        *("SyntaxWarning", "SystemError", "SystemExit", "TabError", "TimeoutError", "TypeError"),
        *("UnboundLocalError", "UnicodeDecodeError", "UnicodeEncodeError", "UnicodeError"),
        *("UnicodeTranslateError", "UnicodeWarning", "UserWarning", "ValueError", "Warning"),
        *("ZeroDivisionError", "abs", "aiter", "all", "anext", "any", "ascii", "bin", "bool"),
        *("breakpoint", "bytearray", "bytes", "callable", "chr", "classmethod", "compile", "complex"),
        *("delattr", "dict", "dir", "divmod", "enumerate", "eval", "exec", "exit", "filter", "float"),
        *("format", "frozenset", "getattr", "globals", "hasattr", "hash", "help", "hex", "id", "input"),
        *("int", "isinstance", "issubclass", "iter", "len", "list", "locals", "map", "max"),
        *("memoryview", "min", "next", "object", "oct", "open", "ord", "pow", "print", "property"),
        *("quit", "range", "repr", "reversed", "round", "set", "setattr", "slice", "sorted"),
        *("staticmethod", "str", "sum", "super", "tuple", "type", "vars", "zip"),
        *("apply", "basestring", "buffer", "cmp", "coerce", "execfile", "file", "intern", "long"),
        *("raw_input", "reduce", "reload", "unichr", "unicode", "xrange"),
        *("__name__", "__doc__", "__file__", "__builtins__", "__import__", "__debug__"),
    }
)

RESERVED: Final = frozenset(
    {
        *("False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue"),
        *("def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in"),
        *("is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with"),
        *("yield", "__debug__"),
    }
)
"""Words that cannot be names."""


PYTHON: Final = (".py", ".pyi")


def is_python(path: str) -> bool:
    return path.endswith(PYTHON)
