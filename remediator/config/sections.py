"""What all sections of the policy file share: closed and frozen models, and the types of their values."""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictInt, StrictStr, WithJsonSchema

from remediator.config.quantities import duration_seconds, size_bytes
from remediator.core.model import Mode

Duration = Annotated[
    float,
    BeforeValidator(duration_seconds),
    WithJsonSchema({"type": ["number", "string"], "description": "seconds, or 30s, 10m, 1h30m"}),
]
Size = Annotated[
    int,
    BeforeValidator(size_bytes),
    WithJsonSchema({"type": ["integer", "string"], "description": "bytes, or 100Mi, 2Gi"}),
]
ModeName = Annotated[Mode, BeforeValidator(lambda given: "off" if given is False else given)]
"""YAML 1.1 reads a bare `off` as false: it is the mode of that name."""
Ratio = Annotated[float, Field(ge=0, le=1, strict=True)]
Count = Annotated[StrictInt, Field(ge=0)]
Text = Annotated[StrictStr, Field(min_length=1)]
Labels = Annotated[dict[Text, StrictStr], Field()]


class Section(BaseModel):
    """Base of all sections: closed, frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=False)

    def given(self) -> dict[str, Any]:
        """What the file says in this section, without what it leaves to the defaults."""
        return {name: getattr(self, name) for name in self.model_fields_set}
