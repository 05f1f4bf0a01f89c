"""What a waking agent is told: sections, templates, and which records they really showed.

It reads and never writes; delivering the text is the runner's.
"""

from fleet.context.building import Context, build, build_from
from fleet.context.given import Given, Present, given_of
from fleet.context.manifest import Made, made_body, made_of
from fleet.context.section import Section
from fleet.context.sources import Sources, Take, start_of
from fleet.context.templates import RenderFailed

__all__ = [
    "Context",
    "Given",
    "Made",
    "Present",
    "RenderFailed",
    "Section",
    "Sources",
    "Take",
    "build",
    "build_from",
    "given_of",
    "made_body",
    "made_of",
    "start_of",
]
