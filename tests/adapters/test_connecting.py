"""How the client finds the API server and its credentials, and what is told when it cannot."""

import json

import pytest
from kubernetes import client
from kubernetes.config.config_exception import ConfigException

from remediator.adapters.errors import BrokenError, TransientError
from remediator.adapters.kubernetes_api import KubernetesApi, configuration
from tests.adapters.canned import Answer, api_of


def kubeconfig(tmp_path, url: str, user: dict):
    """A kubeconfig file for one server and user."""
    path = tmp_path / "kubeconfig"
    context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    clusters, users = [{"name": "c", "cluster": {"server": url}}], [{"name": "u", "user": user}]
    head = {"apiVersion": "v1", "kind": "Config", "current-context": "c"}
    path.write_text(json.dumps({**head, "contexts": [context], "clusters": clusters, "users": users}))
    return path


def test_a_kubeconfig_leads_to_its_server_with_its_token(canned, tmp_path):
    """Server and token of the current context are used, and no global default is touched."""
    server = canned(lambda asked: {"items": []})
    api = KubernetesApi(configuration(kubeconfig(tmp_path, server.url, {"token": "of-a-test"})))
    assert api.list_all(api.core.list_node) == []
    assert server.asked[0].headers["authorization"] == "Bearer of-a-test"
    assert client.Configuration.get_default_copy().host != server.url


def test_outside_of_a_cluster_the_file_is_found_as_kubectl_finds_it(canned, monkeypatch, tmp_path):
    """$KUBECONFIG, which may be a list of files of which some are missing."""
    server = canned(lambda asked: {"items": []})
    file = kubeconfig(tmp_path, server.url, {"token": "of-a-test"})
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'missing'}:{file}")
    assert configuration(None).host == server.url
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    with pytest.raises(ConfigException):  # in a cluster the pod's account is wanted, and here there is none
        configuration(None)


def test_without_any_kubeconfig_it_is_said(monkeypatch, tmp_path):
    """There is nothing to connect with."""
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(ConfigException):
        configuration(None)


def test_credentials_that_cannot_be_made_anew_reach_no_server(canned):
    """A token that cannot be refreshed is no answer of the server: nothing was sent, and nothing is retried."""

    def refresh(_: client.Configuration) -> None:
        raise ConfigException("the token file is gone")

    server = canned(lambda asked: {"items": []})
    found = client.Configuration(host=server.url, api_key={"authorization": "Bearer of-yesterday"})
    found.refresh_api_key_hook = refresh
    api = KubernetesApi(found)
    with pytest.raises(BrokenError, match="the token file is gone") as caught:
        api.read(api.core.list_node)
    assert not caught.value.sent
    assert not server.asked


@pytest.mark.parametrize("body", [b"<html>upstream", b"[1]", b""], ids=["html", "list", "nothing"])
def test_an_error_that_is_no_status_is_still_sorted(canned, body):
    """A proxy's 502 has no reason, causes or details: transient all the same."""
    api = api_of(canned(lambda asked: Answer(502, body)).url)
    with pytest.raises(TransientError) as caught:
        api.read_once(api.core.list_node)
    assert (caught.value.status, caught.value.causes, caught.value.details) == (502, frozenset(), {})
