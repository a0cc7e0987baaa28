"""How the audit's files are named, and what a file and a line are known by, whatever they are called by now.

Rotation renames files, so a name says nothing for longer than a moment: a file is known by its first line, a line by
its file, its place in it and its words. Writer, readers and shipper agree through here.
"""

import hashlib

MAX_BYTES = 64 * 1024**2
"""A file that would outgrow this is rotated."""
MAX_FILES = 8
"""So many files are kept, the one that is written among them."""
_DIGITS = 32


def file_name(identity: str) -> str:
    """The file that a replica writes."""
    return f"audit-{identity.replace('/', '_')}.jsonl"


def rotated_name(identity: str, number: int) -> str:
    """Its predecessor: 1 is the youngest; 0 is the file that is written."""
    return f"{file_name(identity)}.{number}" if number else file_name(identity)


def file_identity(first_line: bytes) -> str:
    """What a file is known by; its first line holds a time, a replica and a node."""
    return hashlib.sha256(first_line).hexdigest()[:_DIGITS]


def line_identity(file: str, offset: int, line: bytes) -> str:
    """What a line is known by for ever: `file` is its file's identity, `offset` where it begins (bytes)."""
    return hashlib.sha256(b"%s:%d:%s" % (file.encode(), offset, line)).hexdigest()[:_DIGITS]
