"""The demo of the whole application. It sends with the layer's own producer, and finds that where it is developed."""

import sys
from pathlib import Path

_LAYER = Path(__file__).resolve().parents[2] / "layers" / "idempotent_consumer"
if str(_LAYER) not in sys.path:
    sys.path.insert(0, str(_LAYER))
