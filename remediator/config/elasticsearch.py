"""Where the audit is shipped to, as the flags of `serve` say it; none of them is needed.

Credentials stand in files, and only their form is looked at here: neither a URL nor a message ever holds one.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from remediator.config.problems import Problem

_URL, _INDEX, _FLAG = "--elasticsearch-url", "--elasticsearch-index", "--elasticsearch-"
_PREFIX = "elasticsearch_"
_INDEX_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,199}")
DEFAULT_INDEX = "remediator-audit"
_EXAMPLE = "https://elasticsearch.logging:9200"


@dataclass(frozen=True, slots=True)
class Elasticsearch:
    """A target; without URLs nothing is shipped."""

    urls: tuple[str, ...] = ()
    index: str = DEFAULT_INDEX
    """Documents go into INDEX-YYYY.MM."""
    api_key_file: Path | None = None
    basic_auth_file: Path | None = None
    ca_file: Path | None = None

    @classmethod
    def taken_from(cls, flags: dict[str, Any]) -> Self:
        """From the flags that are about it, which are taken out of `flags`."""
        ours = {name: flags.pop(name) for name in list(flags) if name.startswith(_PREFIX)}
        urls = tuple(url.strip().rstrip("/") for url in ours.pop("elasticsearch_url", None) or ())
        return cls(urls, **{name.removeprefix(_PREFIX): value for name, value in ours.items() if value is not None})

    def problems(self, identity: str) -> Iterator[Problem]:
        """What is wrong, each under its flag; `identity` as it was given."""
        for url in self.urls:
            if wrong := _wrong_url(url):
                yield Problem(_URL, wrong)
        yield from self._alone()
        if not _INDEX_NAME.fullmatch(self.index):
            yield Problem(_INDEX, f"{self.index!r} is no index name: lower case letters, digits, `.`, `_` and `-`")
        if self.urls and not identity:
            why = "a name that survives restarts is needed, else what a predecessor left is never shipped"
            yield Problem("--identity", f"{why}: say --identity NAME")
        if self.api_key_file and self.basic_auth_file:
            yield Problem(f"{_FLAG}api-key-file", f"and {_FLAG}basic-auth-file: give one of them")
        for name in ("api_key_file", "basic_auth_file", "ca_file"):
            yield from self._wrong_file(name)

    def _alone(self) -> Iterator[Problem]:
        """Flags that nothing would heed."""
        files = [name for name in ("api_key_file", "basic_auth_file", "ca_file") if getattr(self, name)]
        if files and not self.urls:
            yield Problem(_named(files[0]), f"without {_URL} nothing is shipped: say where to, or leave it out")
        elif self.ca_file and all(url.startswith("http://") for url in self.urls):
            yield Problem(f"{_FLAG}ca-file", f"no {_URL} is https: leave it out, or say https")

    def _wrong_file(self, name: str) -> Iterator[Problem]:
        path: Path | None = getattr(self, name)
        if path is None:
            return
        if not (path.is_file() and os.access(path, os.R_OK)):
            yield Problem(_named(name), f"{path} is not a file that can be read")
            return
        text = path.read_text(encoding="utf-8", errors="replace").strip()
        form = {"api_key_file": r"\S+", "basic_auth_file": r"[^:\s]+:.+"}.get(name, r"[\s\S]+")
        if not re.fullmatch(form, text):
            wanted = {"api_key_file": "one API key (encoded, or id:key)", "basic_auth_file": "user:password"}
            yield Problem(_named(name), f"{path} does not hold {wanted.get(name, 'a certificate')}")


def _named(name: str) -> str:
    return _FLAG + name.replace("_", "-")


def _wrong_url(url: str) -> str:
    """What is wrong with it; never shows what stands before an @."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return f"one of them is not a URL like {_EXAMPLE}"
    if parts.username or parts.password or "@" in parts.netloc:
        return (
            "credentials do not belong into a URL: use --elasticsearch-api-key-file or --elasticsearch-basic-auth-file"
        )
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        return f"{url!r} is not a URL like {_EXAMPLE}"
    return "" if port else f"{url!r} names no port: say which, as in {_EXAMPLE}"
