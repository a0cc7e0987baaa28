"""The baseline of the storms: a bare Flask handler under the same gunicorn. `python act_flask.py PORT`."""

import sys
from typing import Any

from flask import Flask, jsonify, request
from gunicorn.app.base import BaseApplication

app = Flask(__name__)


@app.post("/api/v1/alerts")
def receive() -> Any:
    """Parse the JSON and say thanks."""
    return jsonify(accepted=len(request.get_json()["alerts"])), 202


class Server(BaseApplication):
    """One worker with as many threads as the product has."""

    def load_config(self) -> None:
        """Same worker class, threads and keep-alive."""
        values = {
            "bind": f"127.0.0.1:{sys.argv[1]}",
            "workers": 1,
            "worker_class": "gthread",
            "threads": 16,
            "keepalive": 15,
        }
        for name, value in values.items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        """The application."""
        return app


if __name__ == "__main__":
    Server().run()
