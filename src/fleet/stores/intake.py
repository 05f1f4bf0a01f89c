"""What every engine does first to whatever it is given to keep: secrets are masked, or refused.

It is the one place that all records and documents pass on their way in; no engine decides here,
and none goes around it (`tests/contract` shows it for each).
"""

from collections.abc import Sequence

from fleet.errors import Rejected
from fleet.masking import mask, mask_body
from fleet.records import Body, Draft


class Intake:
    """The way in of one store.

    Args:
        secrets: values that must not be written, whatever they look like (see
            `masking.secret_values`).
    """

    def __init__(self, secrets: tuple[str, ...] = ()) -> None:
        self._secrets = secrets

    def drafts(self, stream: str, records: Sequence[Draft]) -> list[Draft]:
        """`records` with their bodies masked: what is stored, compared and answered.

        Raises:
            Rejected: the log's name, an id or a key holds a secret.
        """
        self._refuse(stream, "the log's name")
        return [self._draft(record) for record in records]

    def body(self, key: str, body: Body) -> Body:
        """The document `key`'s body, masked.

        Raises:
            Rejected: the name holds a secret.
        """
        self._refuse(key, "the name")
        return mask_body(body, self._secrets)

    def _draft(self, draft: Draft) -> Draft:
        for name in (draft.id, draft.key):
            if name:
                self._refuse(name, "the id")
        body = mask_body(draft.body, self._secrets)
        return draft if body is draft.body else draft._replace(body=body)

    def _refuse(self, name: str, what: str) -> None:
        """A name is found again by its bytes, so it cannot be masked."""
        masked = mask(name, self._secrets)
        if masked != name:
            raise Rejected(f"{what} {masked!r} holds a secret", "take one that does not")
