"""Situation files: one node at one moment, saved, shared, written by hand, and decided again without any cluster."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from remediator.config.positions import Positions
from remediator.config.reading import parse_yaml, read_text, validated
from remediator.config.situation.asking import question
from remediator.config.situation.schema import SituationFile, now_of
from remediator.config.situation.values import NOW
from remediator.config.situation.writing import situation_text
from remediator.core.question import Question

__all__ = ["SituationFile", "load_situation", "parse_situation", "situation_from_mapping", "situation_text"]


def load_situation(path: str | Path) -> Question:
    """The question of a file; ConfigError with all problems when it cannot be read or is not valid."""
    return parse_situation(read_text(path), source=str(path))


def parse_situation(text: str, *, source: str = "situation") -> Question:
    """The question of a YAML text; ConfigError with all problems."""
    document, where = parse_yaml(text, source)
    return _checked(document, where, source)


def situation_from_mapping(document: Mapping[str, Any], *, source: str = "situation") -> Question:
    """The question of a parsed mapping; problems carry no line."""
    return _checked(document, Positions(), source)


def _checked(document: object, where: Positions, source: str) -> Question:
    return question(validated(SituationFile, document, where, source, context={NOW: now_of(document)}))
