"""`make chaos`: many runs, their seeds, and what held. `--seed N` repeats one; status 1 when an invariant broke."""

import json
import sys
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress

from tests.chaos.run import Result, run
from tests.chaos.weather import weather

BUILD = Path(__file__).resolve().parents[2] / "build"


@click.command()
@click.option("--runs", default=200, show_default=True, help="How many, by seeds from --first on.")
@click.option("--first", default=0, show_default=True, help="First seed.")
@click.option("--seed", type=int, help="Repeat this one run.")
@click.option("--parallel", default=4, show_default=True, help="Runs side by side; each mostly waits.")
def main(runs: int, first: int, seed: int | None, parallel: int) -> None:
    """Kill replicas after every step, with servers that misbehave, and hold each run to the invariants."""
    seeds = [seed] if seed is not None else list(range(first, first + runs))
    console, results = Console(stderr=True), []
    with Progress(console=console) as progress, ThreadPoolExecutor(parallel) as pool:
        task = progress.add_task("runs", total=len(seeds))
        for result in pool.map(_run, seeds):
            results.append(result)
            progress.advance(task)
            if result.broken:
                console.print(
                    f"seed {result.weather.seed} ({result.weather}): {'; '.join(result.broken)}; {result.logs}"
                )
    (BUILD / "chaos.json").parent.mkdir(parents=True, exist_ok=True)
    told = [{"seed": r.weather.seed, "weather": str(r.weather), "broken": r.broken} for r in results]
    (BUILD / "chaos.json").write_text(json.dumps(told, indent=1) + "\n")
    sys.stdout.write(table(results) + "\n")
    sys.exit(int(any(result.broken for result in results)))


def _run(seed: int) -> Result:
    """A run that could not be judged is a broken one; the others go on."""
    try:
        return run(weather(seed), BUILD / "chaos")
    except Exception as error:
        return Result(weather(seed), [f"not judged: {type(error).__name__}: {error}"])


def table(results: list[Result]) -> str:
    """What held in which weather, as Markdown."""
    by_weather: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        end = "restarted" if result.weather.restart else "taken over by the other replica"
        by_weather["all runs"].append(result)
        by_weather[f"killed by SIGKILL, {end}" if result.killed else "nobody killed: the episode was shorter"].append(
            result
        )
        named = [*result.weather.api, f"Prometheus {result.weather.prometheus}"]
        for name in [*named, f"Alertmanager {result.weather.alertmanager}"]:
            if not name.endswith(" well"):
                by_weather[name].append(result)
    lines = ["| weather | runs | evictions | invariants broken |", "|---|---|---|---|"]
    for name, found in by_weather.items():
        broken = Counter(each.partition(":")[0] for result in found for each in result.broken)
        told = ", ".join(f"{what} ({count})" for what, count in broken.items()) or "none"
        lines.append(f"| {name} | {len(found)} | {sum(result.evictions for result in found)} | {told} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
