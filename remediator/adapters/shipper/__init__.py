"""Ships the audit to Elasticsearch from its files, by bulk requests. See shipping.py."""

from remediator.adapters.shipper.bulk import Bulk, Target
from remediator.adapters.shipper.shipping import Files, Shipper
from remediator.adapters.shipper.template import index_template

__all__ = ["Bulk", "Files", "Shipper", "Target", "index_template"]
