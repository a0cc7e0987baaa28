"""Policy file -> core policy, or every reason why not.

Reading and checking are `reading.py`; the shape is `schema.py`. A gap is filled with the shipped default,
a typo never is.
"""

from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any

from remediator.config.positions import Positions
from remediator.config.problems import ConfigError, Problem
from remediator.config.reading import parse_yaml, validated
from remediator.config.schema import PolicyFile
from remediator.core.policy import Policy


def load_policy(path: str | FilePath) -> Policy:
    """Policy of a file; ConfigError with all problems when it cannot be read or is not valid."""
    try:
        text = FilePath(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(str(path), [Problem("", f"cannot be read: {why}")]) from error
    return parse_policy(text, source=str(path))


def parse_policy(text: str, *, source: str = "policy") -> Policy:
    """Policy of a YAML text; an empty text is the shipped policy."""
    document, where = parse_yaml(text, source)
    return validated(PolicyFile, document, where, source).to_policy()


def policy_from_mapping(document: Mapping[str, Any], *, source: str = "policy") -> Policy:
    """Policy of a parsed mapping (a scenario's `policy:` fragment); problems carry no line."""
    return validated(PolicyFile, document, Positions(), source).to_policy()
