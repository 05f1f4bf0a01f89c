"""One home's files, read, checked and resolved: the slow path, walked only when a file changed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fleet.config import crosscheck, faults, files, resolve, sources, yamltext
from fleet.config.fingerprint import Stamp
from fleet.config.model import HomeConfig
from fleet.errors import Finding
from fleet.places import HOME_FILE
from fleet.text import clip, escape

MAX_SAID = 1000  # characters of a sentence: a name in it may be as long as its file


@dataclass(frozen=True, slots=True)
class Built:
    """What came of one home's files.

    Attributes:
        config: None when any finding is an error.
        findings: all of them, by file and line.
        stamps: what tells later whether anything has changed.
    """

    config: HomeConfig | None
    findings: tuple[Finding, ...]
    stamps: tuple[Stamp, ...]

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that forbid this config."""
        return tuple(finding for finding in self.findings if finding.severity == "error")


def check(root: Path) -> list[Finding]:
    """Every fault of every file of the home at `root`, all at once, by file and line."""
    return list(build(root).findings)


def build(root: Path, instead: Mapping[str, bytes | None] | None = None) -> Built:
    """Read everything; never raises for what a file says.

    Args:
        root: the home.
        instead: what files would say after an edit, by name; None where one would be gone.
    """
    found = sources.read(root, instead)
    findings = list(found.findings)
    home = crosscheck.Home(
        found,
        _document(found.fleet, findings),
        _documents(found.agents, findings),
        _documents(found.channels, findings),
    )
    findings += _apart_from(findings, [*_shapes(home), *crosscheck.check(home)])
    findings = sorted(map(_one_line, findings), key=place)
    built = Built(None, tuple(findings), tuple(found.stamps))
    if built.errors or home.fleet is None:
        return built
    return Built(_resolve(home, home.fleet), built.findings, built.stamps)


def place(finding: Finding) -> tuple[bool, str, int]:
    """Where a finding stands: by file and line, but fleet.yaml first, whose faults cause others."""
    return finding.file != HOME_FILE, finding.file, finding.line


def _document(source: sources.Source | None, findings: list[Finding]) -> yamltext.Document | None:
    if source is None:
        return None
    document, faults_of_text = yamltext.read(source.data, source.file)
    findings += faults_of_text
    return document


def _documents(
    read: Iterable[sources.Source], findings: list[Finding]
) -> dict[str, yamltext.Document]:
    documents = {source.id: _document(source, findings) for source in read}
    return {name: document for name, document in documents.items() if document}


def _shapes(home: crosscheck.Home) -> list[Finding]:
    """What each file says that no file of its kind may say."""
    found: list[Finding] = []
    if home.fleet:
        found += faults.check(files.FleetFile, home.fleet)
        if isinstance(home.fleet.tree.get("defaults"), dict):
            found += faults.check(files.AgentFile, home.fleet, ("defaults",), partial=True)
    for document in home.agents.values():
        found += faults.check(files.AgentFile, document, partial=True)
    for document in home.channels.values():
        found += faults.check(files.ChannelFile, document)
    return found


def _one_line(finding: Finding) -> Finding:
    """Keys, values and file names may hold line feeds and what a terminal obeys."""
    file, what, fix = map(escape, (finding.file, finding.what, finding.fix))
    return Finding(finding.severity, file, finding.line, clip(what, MAX_SAID), clip(fix, MAX_SAID))


def _apart_from(known: list[Finding], found: list[Finding]) -> list[Finding]:
    """The findings on lines that have none yet: one mistake is named once."""
    places = {(finding.file, finding.line) for finding in known if finding.line}
    return [finding for finding in found if (finding.file, finding.line) not in places]


def _resolve(home: crosscheck.Home, fleet: yamltext.Document) -> HomeConfig:
    return resolve.home(
        home.sources.root,
        version=home.sources.version(),
        fleet=files.FleetFile.model_validate(fleet.tree),
        agents={
            name: files.AgentFile.model_validate(resolve.merged(home.defaults, document.tree))
            for name, document in home.agents.items()
        },
        channels={
            name: files.ChannelFile.model_validate(document.tree)
            for name, document in home.channels.items()
        },
        types=home.sources.types,
    )
