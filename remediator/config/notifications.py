"""Notification targets in the policy file: who is told what, and in which file his address stands."""

from typing import Annotated, Literal, Self

from pydantic import Field, StrictStr, model_validator

from remediator.config.sections import Section, Text
from remediator.core.routing import SEVERITIES, NotificationTarget

_DEFAULT = NotificationTarget("")
Severity = Literal["info", "warning", "critical"]


class TargetSection(Section):
    """One target. URLs hold tokens, so they stand in a file (a mounted Secret), never in the policy."""

    name: Annotated[Text, Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?$")]
    """Its name in metrics and logs; each only once."""
    kind: Literal["apprise", "webhook"] = "apprise"
    """`apprise`: chat, mail, incident tools by Apprise URLs; `webhook`: JSON."""
    url_file: Text
    """File that holds the address: Apprise URLs, one a line, or one http(s) URL. Read anew for each notice."""
    secret_file: StrictStr = ""
    """File with the key that signs the JSON of a webhook."""
    severities: Annotated[tuple[Severity, ...], Field(min_length=1)] = SEVERITIES  # type: ignore[assignment]
    """Severities that are sent here. Danger: without `critical` nobody hears of incidents here."""
    audience: Literal["operators", "developers", "all"] = "operators"
    """`operators`: all about nodes; `developers`: what only they can mend; `all`: both."""
    namespaces: Annotated[tuple[Text, ...], Field(min_length=1)] = _DEFAULT.namespaces
    """Namespaces (globs) of which developers are told."""

    @model_validator(mode="after")
    def _secret_of_a_webhook(self) -> Self:
        if self.secret_file and self.kind != "webhook":
            raise ValueError("secret_file signs the JSON of a webhook: leave it out, or set kind: webhook")
        return self

    def to_target(self) -> NotificationTarget:
        """The core's value."""
        return NotificationTarget(**{name: getattr(self, name) for name in TargetSection.model_fields})
