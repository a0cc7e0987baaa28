"""All pages: links lead somewhere, and every command that is shown is one that exists, with flags that it has."""

import re
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from remediator.cli import cli
from remediator.exporter.main import parser as exporter_parser
from tests.chart.conftest import HELMS, helm
from tests.docs.pages import PAGES, ROOT, Command, anchors, commands, links
from tests.docs.running import KNOWN, NOT_RUN

SHOWN = sorted({command.text: command for command in commands()}.values(), key=str)
NAMES = {"NODE": "node-1", "PLAN": "p-1", "MODE": "approve", "COMMAND": "serve", "N": "7"}
"""What stands for a value in the pages."""
_TARGET = re.compile(r"^([a-z%-]+):", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """Relative links name a file, and an anchor that is a heading of it."""
    for link in links(page):
        name, _, anchor = link.partition("#")
        if "://" in name or name.startswith("mailto:"):
            continue
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        assert not anchor or target.suffix != ".md" or anchor in anchors(target), link


def test_no_page_of_docs_is_lost() -> None:
    """Every page of docs/ can be reached from the first one."""
    reached, left = {ROOT / "README.md"}, [ROOT / "README.md"]
    while left:
        page = left.pop()
        found = {(page.parent / link.partition("#")[0]).resolve() for link in links(page) if "://" not in link}
        new = {each for each in found if each.suffix == ".md" and each.exists()} - reached
        reached |= new
        left += new
    assert {page for page in PAGES if page.is_relative_to(ROOT / "docs")} <= reached


def parse_remediator(command: Command) -> None:
    """By the program's own parser; a part of a command may lack what is required."""
    name, *words = [NAMES.get(word, word) for word in command.words[1:]] or ["--help"]
    if name == "exporter":
        exporter_parser().parse_args(words)
        return
    if name == "--help":
        return
    group: click.Command = cli
    context = click.Context(cli)
    while isinstance(group, click.Group):
        found = group.get_command(context, name)
        assert found is not None, command
        group, context = found, click.Context(found, parent=context, info_name=name)
        if isinstance(found, click.Group):
            name, *words = words
    try:
        group.make_context(name, words)
    except click.MissingParameter:
        assert not command.whole or "..." in command.text or group.name != "serve", command
    except click.BadOptionUsage as missing:
        assert not command.whole, missing
    except click.BadParameter as refused:
        # A file of the reader's own.
        assert "does not exist" in refused.message, command
    except click.exceptions.Exit as help_shown:
        assert help_shown.exit_code == 0, command


def parse_make(command: Command) -> None:
    """A target of the Makefile."""
    targets = _TARGET.findall((ROOT / "Makefile").read_text(encoding="utf-8"))
    goals = [word for word in command.words[1:] if "=" not in word]
    for goal in goals:
        assert any(re.fullmatch(target.replace("%", "[a-z*]+"), goal) for target in targets), command
    for name, value in (word.split("=", 1) for word in command.words[1:] if "=" in word):
        assert re.search(rf"^{name} \?=|\$\({name}\)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        if name == "SCENARIO" and value != "NAME":
            assert (ROOT / "remediator" / "drill" / "scenarios" / f"{value}.yaml").exists(), command


def parse_python(command: Command) -> None:
    """A file or a module of ours."""
    words = command.words[1:]
    path = ROOT / (words[1].replace(".", "/") if words[0] == "-m" else words[0])
    assert path.is_file() or path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), command


def parse_helm(command: Command) -> None:
    """Flags are Helm's, in both versions; an install renders with the values that it names."""
    verb, *words = command.words[1:]
    for program in HELMS:
        known = helm(program, verb, "--help").stdout
        for flag in (word.partition("=")[0] for word in words if word.startswith("-")):
            assert re.search(rf"(?:^|[\s,]){re.escape(flag)}[\s,]", known), f"{command}: {flag}"
        if verb == "install":
            done = helm(
                program, "template", *(str(ROOT / word) if word.startswith("helm/") else word for word in words)
            )
            assert done.returncode == 0, f"{command}\n{done.stderr}"
            assert "kind: StatefulSet" in done.stdout


def listed(command: Command) -> None:
    """Of a known shape, or named in the table of those that no test runs."""
    assert any(pattern.search(command.text) for pattern in (*KNOWN, *NOT_RUN)), (
        f"{command}: add its shape, or why no test runs it, to tests/docs/running.py"
    )


PARSERS: dict[str, Callable[[Command], None]] = {
    "remediator": parse_remediator,
    "make": parse_make,
    "python": parse_python,
    "helm": parse_helm,
}


@pytest.mark.parametrize("command", SHOWN, ids=str)
def test_commands_parse(command: Command) -> None:
    """With the real parser of the program where it is there, others of a known shape."""
    if " -- remediator " in command.text:
        parse_remediator(Command(command.page, command.text.partition(" -- ")[2], command.whole))
    if not command.page.name.startswith("CHANGELOG"):
        PARSERS.get(command.words[0], listed)(command)


def test_what_is_not_run_is_told() -> None:
    """The table in CONTRIBUTING.md has exactly the commands that no test runs, with the reason."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^|]*)` \| ([^|]*) \|$", page, re.MULTILINE)
    assert dict(rows) == {pattern.pattern.replace(r"\b", "").lstrip("^"): why for pattern, why in NOT_RUN.items()}
