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


def shipped(tmp_path: Path, **flags: Any) -> dict[str, Any]:
    """Flags of a good shipper, with some instead."""
    key = tmp_path / "key"
    key.write_text("id:key\n")
    good = {"identity": "r-0", "elasticsearch_url": ("https://es:9200/",), "elasticsearch_api_key_file": key}
    return good | {f"elasticsearch_{name}" if name != "identity" else name: value for name, value in flags.items()}


def test_where_the_audit_is_shipped_to(tmp_path: Path) -> None:
    """URLs lose their slash; without any, nothing is shipped."""
    found = accepted(**shipped(tmp_path)).elasticsearch
    assert (found.urls, found.index) == (("https://es:9200",), "remediator-audit")
    assert accepted().elasticsearch.urls == ()


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ({"url": ("es:9200",)}, "--elasticsearch-url: 'es:9200' is not a URL"),
        ({"url": ("https://es:x",)}, "--elasticsearch-url: one of them is not a URL"),
        ({"url": ("https://es",)}, "--elasticsearch-url: 'https://es' names no port"),
        ({"url": ("https://ann:hunter2@es:9200",)}, "credentials do not belong into a URL"),
        ({"index": "Audit"}, "--elasticsearch-index: 'Audit' is no index name"),
        ({"index": "_audit"}, "--elasticsearch-index"),
        ({"identity": ""}, "--identity: a name that survives restarts is needed"),
        ({"url": ()}, "--elasticsearch-api-key-file: without --elasticsearch-url nothing is shipped"),
        ({"api_key_file": Path("/nowhere")}, "--elasticsearch-api-key-file: /nowhere is not a file"),
        ({"basic_auth_file": Path(__file__)}, "give one of them"),
        ({"api_key_file": None, "basic_auth_file": Path("/dev/null")}, "--elasticsearch-basic-auth-file"),
        ({"url": ("http://es:9200",), "ca_file": Path(__file__)}, "--elasticsearch-ca-file: no --elasticsearch-url is"),
    ],
)
def test_a_shipper_that_cannot_work_is_refused(tmp_path: Path, flags: dict[str, Any], says: str) -> None:
    """The message names the flag and the fix, and shows no password."""
    told = refused(**shipped(tmp_path, **flags))
    assert says in told
    assert "hunter2" not in told


@pytest.mark.parametrize(
    ("name", "text"), [("api_key_file", "two words"), ("basic_auth_file", "no-colon"), ("ca_file", "")]
)
def test_a_file_of_another_form_is_refused_without_its_content(tmp_path: Path, name: str, text: str) -> None:
    """A key file that holds something else is told at start, not by the server in the night."""
    (tmp_path / "file").write_text(text)
    told = refused(**shipped(tmp_path, **{"api_key_file": None, name: tmp_path / "file"}))
    assert f"--elasticsearch-{name.replace('_', '-')}: {tmp_path / 'file'} does not hold" in told
    assert not text or text not in told
