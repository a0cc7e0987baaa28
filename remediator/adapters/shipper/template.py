"""The index template as it is shipped, for an index name."""

import json
from importlib.resources import files
from typing import Any


def index_template(index: str) -> dict[str, Any]:
    """Body of `PUT _index_template/NAME`: mapping and settings of every index `INDEX-YYYY.MM`."""
    template: dict[str, Any] = json.loads((files(__package__) / "template.json").read_text(encoding="utf-8"))
    return {**template, "index_patterns": [f"{index}-*"]}
