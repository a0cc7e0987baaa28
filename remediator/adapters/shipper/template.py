"""The index template as it is shipped, for an index name."""

import json
from importlib.resources import files
from typing import Any


def index_template(index: str, lifecycle: str = "") -> dict[str, Any]:
    """Body of `PUT _index_template/NAME`: mapping and settings of every index `INDEX-YYYY.MM`.

    `lifecycle` names the policy that deletes them one day; empty: none does.
    """
    template: dict[str, Any] = json.loads((files(__package__) / "template.json").read_text(encoding="utf-8"))
    if lifecycle:
        template["template"]["settings"]["index"]["lifecycle"] = {"name": lifecycle}
    return {**template, "index_patterns": [f"{index}-*"]}
