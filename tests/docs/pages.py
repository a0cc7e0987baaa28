"""The pages of the repository, read as a stranger reads them: headings, links, and the commands that they show."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("rules/**/*.md"), *ROOT.glob("dashboards/*.md")]
)
TOOLS = ("remediator", "make", "kubectl", "helm", "amtool", "promtool", "docker", "python", "curl", "eval")
"""First words of inline code that is a command; in shell blocks every line is one."""
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ +(.*?) *$", re.MULTILINE)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_COMMENT = re.compile(r"\s+#\s.*$")
_ASSIGNMENT = re.compile(r"^(?:[A-Z_]+=\S+ )+")


@dataclass(frozen=True)
class Command:
    """One simple command of a page: what stands between pipes and semicolons, without comment and variables."""

    page: Path
    text: str
    whole: bool
    """From a shell block or an indented line, so that it must work as it stands; inline code may be a part."""

    @property
    def words(self) -> list[str]:
        """As a shell splits them."""
        return [word for word in shlex.split(self.text) if word != "..."]

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}: {self.text}"


def prose(page: Path) -> str:
    """The page without its fenced blocks."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def links(page: Path) -> list[str]:
    """Targets of links and images."""
    return _LINK.findall(prose(page))


def anchors(page: Path) -> set[str]:
    """What `page#...` may name: headings as GitHub writes them."""
    found: set[str] = set()
    for heading in _HEADING.findall(prose(page)):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        found.add(next(each for each in _numbered(slug) if each not in found))
    return found


def _numbered(slug: str) -> Iterator[str]:
    yield slug
    yield from (f"{slug}-{number}" for number in range(1, 100))


def commands() -> list[Command]:
    """Every command of every page."""
    return [command for page in PAGES for command in _of(page)]


def _of(page: Path) -> Iterator[Command]:
    for language, block in _FENCE.findall(page.read_text(encoding="utf-8")):
        if language in ("sh", "bash", "console"):
            yield from _simple(page, block, whole=True)
    text = prose(page)
    indented = [line for line in re.findall(r"^    (\S.*)$", text, re.MULTILINE) if _is_command(line)]
    yield from _simple(page, "\n".join(indented), whole=True)
    for code in re.findall(r"`([^`]+)`", text):
        inline = " ".join(code.split())
        if _is_command(inline) and " " in inline:
            yield from _simple(page, inline, whole=False)


def _is_command(line: str) -> bool:
    return _ASSIGNMENT.sub("", line).split(" ")[0].removeprefix(".venv/bin/") in TOOLS


def _simple(page: Path, block: str, *, whole: bool) -> Iterator[Command]:
    for line in re.sub(r"\\\n\s*", "", block).splitlines():
        for part in re.split(r"; | \| | && |, then ", _COMMENT.sub("", f" {line}")):
            text = _ASSIGNMENT.sub("", part.strip()).removeprefix(".venv/bin/")
            if text:
                yield Command(page, text, whole)


def yaml_blocks(page: Path) -> list[str]:
    """The YAML that the page shows."""
    return [block for language, block in _FENCE.findall(page.read_text(encoding="utf-8")) if language == "yaml"]
