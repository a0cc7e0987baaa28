"""`remediator audit-template`: the index template that the shipper's documents need, for `PUT _index_template`."""

import json

import click

from remediator.config.elasticsearch import DEFAULT_INDEX


@click.command()
@click.option("--index", default=DEFAULT_INDEX, show_default=True, help="As `serve --elasticsearch-index` has it.")
@click.option("--lifecycle", default="", help="Lifecycle policy that its indices follow [none].")
def audit_template(index: str, lifecycle: str) -> None:
    """Print the Elasticsearch index template of the audit."""
    from remediator.adapters.shipper.template import index_template  # noqa: PLC0415 - not for every command

    click.echo(json.dumps(index_template(index, lifecycle), indent=2))
