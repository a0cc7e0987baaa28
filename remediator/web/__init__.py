"""HTTP: the webhook receiver, health, metrics, the JSON API and the status page."""
