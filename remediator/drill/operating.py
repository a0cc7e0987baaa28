"""What a drill does as a person: silences set with amtool, requests for release and plans answered over the API."""

import subprocess
from dataclasses import dataclass, field

import requests

from remediator.drill import tools
from remediator.drill.processes import DrillError
from remediator.drill.scenario import Scenario, SilenceSpec

_TIMEOUT_SECONDS = 10
_LONGER_THAN_ANY_DRILL = "12h"


@dataclass(slots=True)
class Operator:
    """Does what is due; `act` is called again and again with the scenario's time."""

    scenario: Scenario
    alertmanager_url: str
    remediator_url: str
    _silences: dict[int, str] = field(default_factory=dict)
    _ended: set[int] = field(default_factory=set)
    _released: bool = False
    _waiting_since: dict[str, float] = field(default_factory=dict)
    """Plan -> when it was first seen to wait, scenario seconds."""

    def act(self, now: float, release_asked_at: float | None) -> None:
        """Whatever is due at `now` (scenario seconds). Raises DrillError when Alertmanager refuses."""
        for index, silence in enumerate(self.scenario.silences):
            if index not in self._silences and now >= silence.at:
                self._silences[index] = self._silence(silence)
            if index in self._silences and index not in self._ended and now >= silence.until:
                self._amtool("expire", self._silences[index])
                self._ended.add(index)
        after = self.scenario.operator.release_after
        if not self._released and after is not None and release_asked_at is not None:
            self._released = now >= release_asked_at + after and self._release()
        if self.scenario.operator.approve_after is not None:
            self._approve(now, self.scenario.operator.approve_after)

    def _silence(self, silence: SilenceSpec) -> str:
        """Set it until it is expired at the scenario's time; its id."""
        said = ("--author=drill", "--comment=set by the scenario", f"--duration={_LONGER_THAN_ANY_DRILL}")
        return self._amtool("add", *said, *silence.matchers).strip()

    def _amtool(self, verb: str, *words: str) -> str:
        command = [tools.find("amtool"), f"--alertmanager.url={self.alertmanager_url}", "silence", verb, *words]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False
        )
        if done.returncode != 0:
            raise DrillError(f"a silence of the scenario is refused: amtool {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def _approve(self, now: float, after_seconds: float) -> None:
        """Approve what has waited long enough; what cannot be asked or answered now is tried again."""
        plans = f"{self.remediator_url}/api/v1/plans"
        try:
            found = requests.get(plans, timeout=_TIMEOUT_SECONDS).json().get("plans", [])
            for plan in (each["id"] for each in found if each["status"] == "waiting"):
                if now >= self._waiting_since.setdefault(plan, now) + after_seconds:
                    requests.post(f"{plans}/{plan}/approve", json={}, timeout=_TIMEOUT_SECONDS)
        except (requests.RequestException, ValueError):
            return

    def _release(self) -> bool:
        """Answer a request for release; False when it must be tried again."""
        url = f"{self.remediator_url}/api/v1/nodes/{self.scenario.focus}/release"
        try:
            return requests.post(url, json={}, timeout=_TIMEOUT_SECONDS).ok
        except requests.RequestException:
            return False
