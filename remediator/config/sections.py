"""What all sections of the policy file share: closed and frozen models, and the types of their values."""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StrictInt, StrictStr, WithJsonSchema

from remediator.config.quantities import duration_seconds, size_bytes
from remediator.core.model import Mode

Duration = Annotated[
    float,
    BeforeValidator(duration_seconds),
    WithJsonSchema({"type": ["number", "string"], "examples": [30, "10m", "1h30m"]}),
]
Size = Annotated[
    int,
    BeforeValidator(size_bytes),
    WithJsonSchema({"type": ["integer", "string"], "examples": ["100Mi", "2Gi"]}),
]
ModeName = Annotated[Mode, BeforeValidator(lambda given: "off" if given is False else given)]
"""YAML 1.1 reads a bare `off` as false: it is the mode of that name."""
Ratio = Annotated[float, Field(ge=0, le=1, strict=True)]
Count = Annotated[StrictInt, Field(ge=0)]
Text = Annotated[StrictStr, Field(min_length=1)]
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def _label_key(given: str) -> str:
    """A qualified name: an optional DNS subdomain, a slash, and a name (Kubernetes' syntax of label keys)."""
    prefix, slash, name = given.rpartition("/")
    if slash and not (len(prefix) <= 253 and _SUBDOMAIN.fullmatch(prefix)):
        raise ValueError(f"{given!r} is no label name: before the slash stands a DNS name such as example.com")
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{given!r} is no label name: at most 63 letters, digits, '-', '_' and '.', the ends letters or digits"
        )
    return given


def _label_value(given: str) -> str:
    if given and not _NAME.fullmatch(given):
        raise ValueError(
            f"{given!r} is no label value: at most 63 letters, digits, '-', '_' and '.', the ends letters or digits"
        )
    return given


LabelKey = Annotated[StrictStr, AfterValidator(_label_key)]
LabelValue = Annotated[StrictStr, AfterValidator(_label_value)]
Labels = Annotated[dict[LabelKey, LabelValue], Field()]


class Section(BaseModel):
    """Base of all sections: closed, frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=False, use_attribute_docstrings=True)

    def given(self) -> dict[str, Any]:
        """What the file says in this section, without what it leaves to the defaults."""
        return {name: getattr(self, name) for name in self.model_fields_set}
