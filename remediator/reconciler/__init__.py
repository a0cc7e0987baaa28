"""One pass over one node: observe -> decide -> record intent -> perform -> record."""

from remediator.reconciler.reconcile import Ports, Reconciler

__all__ = ["Ports", "Reconciler"]
