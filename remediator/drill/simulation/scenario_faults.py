"""Faults of a scenario that are in force at a moment, handed to the API server and to the metrics endpoints.

Faults that were set over HTTP are left as they are: a scenario only ever adds and takes back its own.
"""

from remediator.drill.apiserver.faults import Fault, Faults
from remediator.drill.scenario import FaultSpec


class ScenarioFaults:
    """The faults of one story."""

    def __init__(self, specs: tuple[FaultSpec, ...], api: Faults) -> None:
        self._api = api
        self._api_specs = [(spec, Fault.parse(spec.api)) for spec in specs if spec.api is not None]
        self._metrics = [spec for spec in specs if spec.metrics is not None]
        self._set_by_hand: list[FaultSpec] = []
        self._in_force: list[Fault] = []
        self._pages: dict[tuple[FaultSpec, str, str], str] = {}

    def tick(self, now: float) -> None:
        """Switch on and off what is due."""
        due = [fault for spec, fault in self._api_specs if _due(spec, now)]
        if [id(fault) for fault in due] != [id(fault) for fault in self._in_force]:
            mine = {id(fault) for fault in self._in_force}
            others = [rule for rule in self._api.rules if id(rule) not in mine]
            self._api.replace([*others, *due])
            self._in_force = due

    def set_by_hand(self, specs: list[FaultSpec]) -> None:
        """Other faults of metrics than the scenario's from now on, until they are replaced."""
        self._set_by_hand = specs
        self._pages = {key: page for key, page in self._pages.items() if key[0] in self._metrics}

    def of_endpoint(self, endpoint: str, node: str, now: float) -> list[FaultSpec]:
        """Faults of an endpoint's page that are in force."""
        known = [*(spec for spec in self._metrics if _due(spec, now)), *self._set_by_hand]
        return [spec for spec in known if spec.metrics == endpoint and spec.node in ("", node)]

    def frozen(self, spec: FaultSpec, endpoint: str, node: str, page: str) -> str:
        """The page as it was when it was first asked for under this fault."""
        return self._pages.setdefault((spec, endpoint, node), page)


def _due(spec: FaultSpec, now: float) -> bool:
    return spec.at <= now and (spec.until is None or now < spec.until)
