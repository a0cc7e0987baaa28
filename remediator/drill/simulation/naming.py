"""Names and UIDs that look random and are the same in every run of a scenario. Pure."""

import hashlib
import uuid


def identity(*parts: str) -> str:
    """A UID that is the same in every run of a scenario."""
    return str(uuid.UUID(hashlib.sha256("/".join(parts).encode()).hexdigest()[:32]))


def suffix(*parts: str, length: int = 5) -> str:
    """The random-looking end of a generated name, the same in every run."""
    alphabet = "bcdfghjklmnpqrstvwxz2456789"
    digest = hashlib.sha256("/".join(parts).encode()).digest()
    return "".join(alphabet[byte % len(alphabet)] for byte in digest[:length])
