"""docs/situations.md against the schema and what is kept."""

from pathlib import Path

from remediator.config.situation import SituationFile, parse_situation
from remediator.config.situation.schema import SOURCES
from remediator.config.situation.writing import KEPT_ANNOTATIONS

PAGE = (Path(__file__).parents[2] / "docs" / "situations.md").read_text()


def test_every_key_source_and_kept_annotation_is_documented() -> None:
    """The table has exactly the keys that the file may have."""
    rows = [line.split("`")[1] for line in PAGE.splitlines() if line.startswith("| `")]
    assert rows == list(SituationFile.model_fields)
    assert all(f"`{name}`" in PAGE for name in (*SOURCES, *KEPT_ANNOTATIONS))


def test_the_example_is_a_situation() -> None:
    """What stands there can be decided."""
    example = PAGE.split("```yaml\n")[1].split("```")[0]
    assert parse_situation(example).observation.node == "n1"
