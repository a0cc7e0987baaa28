"""The pages in a real browser, in front of a real server: what people see, and what their buttons do."""

import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from remediator.cli import cli
from tests.pages.conftest import SCREENSHOTS, TOKEN, Running

pytestmark = [pytest.mark.acceptance, pytest.mark.xdist_group("pages")]
PHONE: dict[str, Any] = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "device_scale_factor": 2}
WALL: dict[str, Any] = {"viewport": {"width": 1920, "height": 1080}}


def shot(page: Any, name: str) -> Path:
    """Keep what the page looks like, for people."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    path = SCREENSHOTS / f"{name}.png"
    page.screenshot(path=path, full_page=True)
    return path


def overflow(page: Any) -> int:
    """CSS pixels by which the page is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def answer(page: Any, plan: str, verdict: str) -> None:
    """Enter the token and press the plan's button."""
    page.get_by_label("Your operator token").fill(TOKEN)
    page.once("dialog", lambda dialog: dialog.accept())
    page.locator(f"#{verdict}-{plan}").click()


def test_a_plan_is_approved_on_a_phone_and_runs(running: Running, open_page: Any) -> None:
    """Worst node first, the plan with its steps, one button; then the acts, and the name in the record."""
    plan = running.plan()
    page = open_page(**PHONE)
    names = page.locator("article.node h3 a").all_inner_texts()
    assert names == ["n1", "n2", "n3"]
    assert page.locator("article.node").first.locator(".level").inner_text() == "RED"
    assert page.locator("article.node svg polyline").count() == 3
    assert "spark-a-0" in page.locator(".plan").inner_text()
    assert 'namespace="payments"' in page.locator("section[aria-labelledby=silences]").inner_text()
    assert overflow(page) == 0
    shot(page, "phone-light")
    answer(page, plan, "approve")
    page.get_by_role("status").filter(has_text="in the name of ann").wait_for()
    page.locator(".plan").wait_for(state="detached")
    assert TOKEN not in page.url and TOKEN not in page.content()
    record = running.record()
    assert record["status"]["plan"]["approvedBy"] == "ann"
    page.goto(f"{running.url}/nodes/n1")
    page.locator(".steps").get_by_text("cordon: done").wait_for()
    assert overflow(page) == 0
    shot(page, "phone-node")


def test_a_plan_is_rejected_and_not_asked_again(running: Running, open_page: Any) -> None:
    """The plan is gone from the page, nothing was done, and the node says who said no."""
    plan = running.plan()
    page = open_page(color_scheme="dark", **WALL)
    shot(page, "wall-dark")
    answer(page, plan, "reject")
    page.locator(".plan").wait_for(state="detached")
    record = running.record()
    assert record["status"]["rejected"][0]["by"] == "ann"
    assert "evictions" not in record["status"]
    page.goto(f"{running.url}/nodes/n1")
    assert "rejected" in page.locator("section[aria-labelledby=now]").inner_text()
    assert "spark-a-0" in page.locator("section[aria-labelledby=ranking]").inner_text()
    shot(page, "node-dark")


def test_a_plan_approved_by_kubectl_runs_in_its_name(running: Running) -> None:
    """The merge patch of the notification is enough, without our API; nobody's name is put on it."""
    plan = running.plan()
    path = "/apis/remediator.io/v1alpha1/noderemediations/n1"
    assert running.cluster.patch(path, {"spec": {"approvedPlan": plan}}).ok
    while running.record()["status"]["phase"] == "AWAITING_APPROVAL":
        time.sleep(0.05)
    held = running.record()["status"]["plan"]
    assert (held["id"], held["approvedBy"]) == (plan, "kubectl, see the API server's audit log")


def test_a_plan_is_approved_on_the_command_line_and_too_late_is_told(running: Running, tmp_path: Path) -> None:
    """Accepted by name (exit 0); without a token, and once the plan ran, refused in words (exit 1)."""
    plan = running.plan()
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    where = ["--server", running.url]
    call = ["approve", plan, *where, "--token-file", str(tmp_path / "token")]
    assert call[0] + " " + plan in CliRunner().invoke(cli, ["status", *where]).output
    assert CliRunner().invoke(cli, ["approve", plan, *where]).exit_code == 1
    accepted = CliRunner().invoke(cli, call)
    assert (accepted.exit_code, "approved by ann" in accepted.output) == (0, True)
    while running.record()["status"]["phase"] == "AWAITING_APPROVAL":
        time.sleep(0.05)
    late = CliRunner().invoke(cli, call)
    assert (late.exit_code, "approved by ann" in late.output) == (1, True)
    assert plan in CliRunner().invoke(cli, ["plans", *where]).output


def test_a_wrong_token_is_told_and_does_nothing(running: Running, open_page: Any) -> None:
    """Without a token the page asks for it; a wrong one is refused in the server's words."""
    plan = running.plan()
    page = open_page(**PHONE)
    page.once("dialog", lambda dialog: dialog.accept())
    page.locator(f"#approve-{plan}").click()
    page.get_by_role("status").filter(has_text="Enter your operator token").wait_for()
    assert page.evaluate("document.activeElement.id") == "token"
    page.get_by_label("Your operator token").fill("wrong")
    page.once("dialog", lambda dialog: dialog.accept())
    page.locator(f"#approve-{plan}").click()
    page.get_by_role("status").filter(has_text="a named operator's token is needed").wait_for()
    assert running.plan() == plan


def test_dark_and_light_follow_the_system_and_can_be_read(running: Running, open_page: Any) -> None:
    """Text and badges have at least WCAG's 4.5:1 in both schemes."""
    running.plan()
    grounds = set()
    for scheme in ("light", "dark"):
        page = open_page(color_scheme=scheme, **PHONE)
        grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert page.evaluate(_LOW_CONTRAST) == []
        shot(page, f"phone-{scheme}")
    assert len(grounds) == 2


def test_the_page_works_without_javascript_and_by_keyboard(running: Running, open_page: Any) -> None:
    """Everything is there; the command stands in for the button. With a keyboard the first stop skips the header."""
    plan = running.plan()
    page = open_page(java_script_enabled=False)
    assert page.locator("button").first.is_hidden()
    assert page.get_by_text(f"remediator approve {plan}").is_visible()
    scripted = open_page()
    scripted.keyboard.press("Tab")
    assert scripted.evaluate("document.activeElement.textContent") == "Skip to content"
    for landmark in ("banner", "main", "contentinfo"):
        assert scripted.get_by_role(landmark).count() == 1
    unnamed = (
        "[...document.querySelectorAll('button,input,a')].filter(e => !(e.textContent.trim() || e.labels?.length))"
    )
    assert scripted.evaluate(f"{unnamed}.length") == 0


_LOW_CONTRAST = """() => {
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const linear = (v) => v / 255 <= .03928 ? v / 255 / 12.92 : ((v / 255 + .055) / 1.055) ** 2.4;
  const light = (c) => { const f = c.slice(0, 3).map(linear);
    return .2126 * f[0] + .7152 * f[1] + .0722 * f[2]; };
  const ground = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor);
    if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
  const low = [];
  for (const e of document.querySelectorAll('body *')) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) || !e.offsetParent) continue;
    const [a, b] = [light(rgb(getComputedStyle(e).color)), light(ground(e))].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    if (ratio < 4.5) low.push(e.tagName + ' ' + e.className + ' ' + ratio.toFixed(2));
  }
  return low;
}"""
