"""The composition root: adapters, reconciler, dispatcher and web services put together from settings and policy."""

import hashlib
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import metadata

from remediator.cli.checking import plain
from remediator.config import Settings
from remediator.core.model import Mode, Unknown
from remediator.core.policy import Policy
from remediator.dispatcher import Dispatcher
from remediator.reconciler import Ports, Reconciler
from remediator.reconciler.resyncing import Resync
from remediator.reconciler.telling import Teller
from remediator.web.services import Services
from remediator.web.tokens import OperatorAuth, TokenFile, WebhookAuth
