"""Tokens from files: rotation, both schemes, nobody by accident."""

import base64
from pathlib import Path

import pytest

from remediator.web.tokens import OperatorAuth, TokenFile, WebhookAuth


def bearer(token: str) -> str:
    """Authorization header."""
    return f"Bearer {token}"


def basic(pair: str) -> str:
    """Authorization header."""
    return "Basic " + base64.b64encode(pair.encode()).decode()


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A token file."""
    path = tmp_path / "token"
    path.write_text("# alertmanager\nfirst\n\nalertmanager:päss\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("header", [bearer("first"), basic("alertmanager:päss"), "bearer first"])
def test_a_line_of_the_file_admits(secret: Path, header: str) -> None:
    """A bearer token or user:password that is a line of the file is let in."""
    assert WebhookAuth(TokenFile(secret)).admits(header)


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "first",
        "Bearer",
        bearer(""),
        bearer("firs"),
        bearer("# alertmanager"),
        basic("a:b"),
        "Basic %%%",
    ],
)
def test_anything_else_does_not(secret: Path, header: str | None) -> None:
    """Missing, empty, near and malformed headers are refused, and so is a comment of the file."""
    assert not WebhookAuth(TokenFile(secret)).admits(header)


def test_a_file_that_cannot_be_read_admits_nobody(tmp_path: Path) -> None:
    """A secret that was lost is no open door."""
    assert not WebhookAuth(TokenFile(tmp_path / "gone")).admits(bearer(""))


def test_a_rotated_token_is_read_again(secret: Path) -> None:
    """The file is read again after its interval and not before."""
    now = [0.0]
    auth = WebhookAuth(TokenFile(secret, reread_seconds=10, clock=lambda: now[0]))
    assert auth.admits(bearer("first"))
    secret.write_text("second\n")
    now[0] = 9.0
    assert auth.admits(bearer("first"))
    now[0] = 11.0
    assert auth.admits(bearer("second"))
    assert not auth.admits(bearer("first"))


def test_operators_are_named_by_their_token(tmp_path: Path) -> None:
    """The name beside the token is who acts; a line without a token names nobody."""
    path = tmp_path / "operators"
    path.write_text("ann: a1\nbob : b:2\nnobody:\n")
    auth = OperatorAuth(TokenFile(path), local_operator="local")
    assert auth.operator(bearer("a1")) == "ann"
    assert auth.operator(bearer("b:2")) == "bob"
    assert auth.operator(bearer("")) is None
    assert auth.operator(None) is None
    assert not auth.open


def test_without_a_file_only_loopback_has_an_operator() -> None:
    """The local operator is who the cli says; elsewhere there is none."""
    assert OperatorAuth(None, local_operator="local").operator(None) == "local"
    assert OperatorAuth(None, local_operator=None).operator(bearer("x")) is None
