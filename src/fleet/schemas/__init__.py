"""Event types: which payloads fit, what emitting one claims, and whom it addresses.

The only door of jsonschema and fastjsonschema. What an event does on the bus is not known here.
"""

from fleet.schemas.compiled import EventType
from fleet.schemas.registry import Registry

__all__ = ["EventType", "Registry"]
