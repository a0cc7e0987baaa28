"""`python -m remediator.drill.simulation`: one simulated cluster as a process of its own."""

import asyncio
import sys
from pathlib import Path

import click

from remediator.config.problems import ConfigError
from remediator.drill import scenario as scenarios
from remediator.drill.processes import DrillError
from remediator.drill.rights import access_of
from remediator.drill.simulation.server import BoundFiles, Cluster, serve


@click.command()
@click.option("--scenario", required=True, help="Name of a shipped scenario, or a file.")
@click.option("--listen", default="127.0.0.1:0", show_default=True, help="HOST:PORT; port 0 takes a free one.")
@click.option("--speed", type=click.FloatRange(min=0.1), default=1.0, show_default=True)
@click.option("--kubeconfig-out", type=click.Path(path_type=Path), help="Where to write a kubeconfig.")
@click.option("--bound-file", type=click.Path(path_type=Path), help="Where to write HOST:PORT once it is open.")
@click.option("--rights", type=click.Path(path_type=Path), help="RBAC manifests that the remediator is held to.")
def main(
    scenario: str,
    listen: str,
    speed: float,
    kubeconfig_out: Path | None,
    bound_file: Path | None,
    rights: Path | None,
) -> None:
    """Serve a scenario's cluster until terminated; its time begins with POST /drill/start."""
    host, _, port = listen.rpartition(":")
    if not host or not port.isdigit():
        sys.exit(f"--listen {listen}: write HOST:PORT, for example 127.0.0.1:0")
    try:
        files = BoundFiles(kubeconfig_out, bound_file)
        if not asyncio.run(_served(scenarios.load(scenario), host, int(port), speed, files, rights)):
            sys.exit(1)
    except (ConfigError, DrillError) as error:
        sys.exit(str(error))
    except OSError as error:
        sys.exit(f"--listen {listen}: {error.strerror}; choose another port, or 0 for a free one")


async def _served(
    story: scenarios.Scenario, host: str, port: int, speed: float, files: BoundFiles, rights: Path | None
) -> bool:
    return await serve(Cluster(story, speed, access_of(rights) if rights else None), host, port, files)


if __name__ == "__main__":
    main()
