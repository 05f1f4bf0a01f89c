"""What a waking agent is told: sections, templates, and which records they really showed.

It reads and never writes; delivering the text is the runner's.
"""

from fleet.context.building import Context, build
from fleet.context.section import Section
from fleet.context.sources import Sources, start_of
from fleet.context.templates import RenderFailed

__all__ = ["Context", "RenderFailed", "Section", "Sources", "build", "start_of"]
