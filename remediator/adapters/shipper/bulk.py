"""Bulk requests by the official client: documents go, one answer for each comes back, whatever happens.

`create` with an identity of ours, so that a document which is sent again is refused as already there (409) instead of
doubled; data streams take nothing else, either. The client is imported and made when it is first needed, and made
anew after a refusal, for a rotated Secret needs no restart. Our caller waits and tries again, not the client: its own
waits cannot be ended. Credentials stand in files; neither they nor a request are ever logged.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remediator.adapters.shipper.documents import Document

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch

_TIMEOUT_SECONDS = 30.0
_TOO_LARGE, _TOO_MANY, _CONFLICT, _BAD = 413, 429, 409, 400
_REFUSALS = (401, 403, 404)
_CONFLICT_TYPE = "version_conflict_engine_exception"
_OF_THE_INDEX = ("validation_exception", "invalid_index_name_exception", "index_closed_exception")
"""400s that say nothing against the document: the cluster's cap of shards, a closed index."""
_MOST_REASON = 500


class Fate(Enum):
    """What became of a document."""

    TAKEN = "taken"
    """It is there, by this request or an earlier one."""
    LATER = "later"
    """Not now: overload, no answer, no primary shard."""
    REFUSED = "refused"
    """Not before somebody mends something: credentials, rights, a server that is not Elasticsearch."""
    REJECTED = "rejected"
    """Never: this document does not fit."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A fate, and the reason in words where it is not TAKEN."""

    fate: Fate
    why: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """Where documents go, and as whom."""

    urls: tuple[str, ...]
    api_key_file: Path | None = None
    """The encoded key, or `id:key`."""
    basic_auth_file: Path | None = None
    """`user:password`."""
    ca_file: Path | None = None
    """None: the public authorities."""


class Bulk:
    """One target."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._client: Elasticsearch | None = None

    def send(self, documents: Sequence[Document]) -> list[Answer]:
        """An answer for each, in order. Never raises."""
        try:
            answers = self._sent(documents)
        except Exception as error:
            # An unreadable file of credentials, and whatever the client may think of.
            answers = [Answer(Fate.REFUSED, f"{type(error).__name__}: {error}"[:_MOST_REASON])] * len(documents)
        if any(answer.fate is Fate.REFUSED for answer in answers):
            self.close()
        return answers

    def close(self) -> None:
        """Drop the connections; the next request makes new ones."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _sent(self, documents: Sequence[Document]) -> list[Answer]:
        from elasticsearch import ApiError, TransportError, UnsupportedProductError  # noqa: PLC0415 - twenty MiB

        try:
            answer = self._connected().bulk(operations=[line for each in documents for line in _operation(each)])
        except UnsupportedProductError:
            return [Answer(Fate.REFUSED, "the server is not Elasticsearch")] * len(documents)
        except ApiError as error:
            return self._refused(documents, error.status_code, _told(error.body) or error.message)
        except TransportError as error:
            return [Answer(Fate.LATER, f"no answer: {error.message}"[:_MOST_REASON])] * len(documents)
        return _answers(answer.body, len(documents))

    def _refused(self, documents: Sequence[Document], status: int, why: str) -> list[Answer]:
        """The whole request was; a request that is too large is halved."""
        if status == _TOO_LARGE and len(documents) > 1:
            half = len(documents) // 2
            return self._sent(documents[:half]) + self._sent(documents[half:])
        fate = Fate.REFUSED
        if status == _TOO_LARGE:
            fate, why = Fate.REJECTED, f"larger than the server takes: {why}"
        elif status == _TOO_MANY or status >= 500:
            fate = Fate.LATER
        return [Answer(fate, f"{status}: {why}"[:_MOST_REASON])] * len(documents)

    def _connected(self) -> "Elasticsearch":
        if self._client is None:
            from elasticsearch import Elasticsearch  # noqa: PLC0415

            # A line per request, at INFO; and at WARNING the URL of each that failed, which we tell ourselves.
            logging.getLogger("elastic_transport").setLevel(logging.ERROR)
            self._client = Elasticsearch(list(self._target.urls), **self._options())
        return self._client

    def _options(self) -> dict[str, Any]:
        target = self._target
        options: dict[str, Any] = {
            "request_timeout": _TIMEOUT_SECONDS,
            "http_compress": True,
            "connections_per_node": 1,
            # Only on to the next node, when one cannot be reached.
            "max_retries": len(target.urls) - 1,
            "retry_on_status": (),
            "retry_on_timeout": False,
        }
        if target.api_key_file is not None:
            key = target.api_key_file.read_text(encoding="utf-8").strip()
            options["api_key"] = tuple(key.split(":", 1)) if ":" in key else key
        if target.basic_auth_file is not None:
            user, _, password = target.basic_auth_file.read_text(encoding="utf-8").strip().partition(":")
            options["basic_auth"] = (user, password)
        if target.ca_file is not None:
            options["ca_certs"] = str(target.ca_file)
        return options


def _operation(document: Document) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    return {"create": {"_index": document.index, "_id": document.id}}, document.source


def _answers(body: Any, count: int) -> list[Answer]:
    """Items come in the order of the operations; an answer of another form is none."""
    items = body.get("items") if isinstance(body, dict) else None
    if not isinstance(items, list) or len(items) != count:
        return [Answer(Fate.LATER, "no answer of the bulk API")] * count
    return [_answer(item) for item in items]


def _answer(item: Any) -> Answer:
    created = item.get("create") if isinstance(item, dict) else None
    status = created.get("status") if isinstance(created, dict) else None
    if created is None or not isinstance(status, int):
        return Answer(Fate.LATER, "no answer of the bulk API")
    error = created.get("error")
    kind = str(error.get("type", "")) if isinstance(error, dict) else ""
    return Answer(_fate(status, kind), "" if status < 300 else f"{status}: {_told(created)}"[:_MOST_REASON])


def _fate(status: int, kind: str) -> Fate:
    if status < 300 or (status == _CONFLICT and kind == _CONFLICT_TYPE):
        return Fate.TAKEN
    if status in (_CONFLICT, _TOO_MANY) or status >= 500:
        return Fate.LATER
    if status in _REFUSALS or (status == _BAD and kind in _OF_THE_INDEX):
        return Fate.REFUSED
    return Fate.REJECTED


def _told(body: Any) -> str:
    """The reason in an error of Elasticsearch, with what caused it."""
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return str(error or "")
    cause = error.get("caused_by")
    more = f" ({cause.get('reason')})" if isinstance(cause, dict) and cause.get("reason") else ""
    return f"{error.get('type')}: {error.get('reason')}{more}"
