"""Flags and environment of a running server."""

from pathlib import Path
from typing import Any

import pytest

from remediator.config import ConfigError, Settings
from remediator.config.settings import header_lines

GOOD: dict[str, Any] = {
    "prometheus": "http://127.0.0.1:9090/",
    "alertmanager": "http://127.0.0.1:9093,http://127.0.0.1:9094",
    "listen": "127.0.0.1:8080",
}


def refused(**flags: Any) -> str:
    """The message of refused flags."""
    with pytest.raises(ConfigError) as error:
        Settings.from_flags(**{**GOOD, **flags})
    return str(error.value)


def accepted(**flags: Any) -> Settings:
    """The settings of flags."""
    return Settings.from_flags(**{**GOOD, **flags})


def test_good_flags_give_settings() -> None:
    """URLs lose their trailing slash, the list is split, the identity is this host and process."""
    settings = Settings.from_flags(**GOOD)
    assert settings.prometheus_url == "http://127.0.0.1:9090"
    assert settings.alertmanager_urls == ("http://127.0.0.1:9093", "http://127.0.0.1:9094")
    assert (settings.listen_host, settings.listen_port) == ("127.0.0.1", 8080)
    assert settings.identity


@pytest.mark.parametrize(
    ("flags", "flag"),
    [
        ({"prometheus": "prometheus:9090"}, "--prometheus"),
        ({"alertmanager": "http://a:1,,"}, "--alertmanager"),
        ({"listen": "8080"}, "--listen"),
        ({"listen": "127.0.0.1:99999"}, "--listen"),
        ({"speed": 0.0}, "--speed"),
        ({"kubeconfig": Path("/nowhere")}, "--kubeconfig"),
        ({"webhook_token_file": Path("/nowhere")}, "--webhook-token-file"),
        ({"tls_cert_file": Path(__file__)}, "--tls-cert-file"),
        ({"namespace": ""}, "--namespace"),
    ],
)
def test_a_bad_flag_is_refused_by_its_name(flags: dict[str, Any], flag: str) -> None:
    """The message names the flag that mends it."""
    assert f": {flag}: " in refused(**flags)


def test_all_bad_flags_are_told_at_once() -> None:
    """Two faults, two lines."""
    assert len(refused(prometheus="x", listen="y").splitlines()) == 2


def test_an_open_address_needs_a_token_or_a_plain_word(tmp_path: Path) -> None:
    """Reachable from outside without a token is refused unless told --insecure."""
    assert "--webhook-token-file" in refused(listen="0.0.0.0:8080")
    token = tmp_path / "token"
    token.write_text("secret")
    assert Settings.from_flags(**GOOD | {"listen": "0.0.0.0:1"}, webhook_token_file=token).listen_port == 1
    assert Settings.from_flags(**GOOD | {"listen": "[::]:1"}, insecure=True).listen_host == "::"


@pytest.mark.parametrize("listen", ["localhost:1", "127.0.0.9:1", "[::1]:1"])
def test_loopback_needs_no_token(listen: str) -> None:
    """Only this machine can reach it."""
    assert Settings.from_flags(**GOOD | {"listen": listen}).loopback


def test_scrape_intervals_are_read_as_rules_reads_them() -> None:
    """One notation for both: the queries' windows follow them."""
    found = accepted(scrape_interval="30s", cadvisor_interval="1m")
    assert (found.scrape_seconds, found.cadvisor_scrape_seconds) == (30.0, 60.0)
    with pytest.raises(ConfigError, match="--scrape-interval"):
        accepted(scrape_interval="often")


def test_headers_for_prometheus_come_from_a_file(tmp_path: Path) -> None:
    """Tenant and token; a line that is no header is named by its number and not by its content."""
    file = tmp_path / "headers"
    file.write_text("# of the lab\nX-Scope-OrgID: lab\nAuthorization: Bearer abc: def\n")
    assert header_lines(file) == {"X-Scope-OrgID": "lab", "Authorization": "Bearer abc: def"}
    file.write_text("X-Scope-OrgID: lab\nverysecrettoken\n")
    with pytest.raises(ConfigError) as refused:
        accepted(prometheus_header_file=file)
    assert ":2:" in str(refused.value)
    assert "verysecrettoken" not in str(refused.value)
