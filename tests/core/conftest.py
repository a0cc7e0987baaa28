"""Makes this directory's builders importable (`core_world`), whatever the import mode."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
