"""The templates a schema may hold, `x-claim`, `x-to` and `x-subject`: text with `{field}` in it.

Nothing but the names of payload fields may stand in the braces; nothing is evaluated.
"""

import re

from fleet.errors import Rejected

_FIELD = re.compile(r"\{([^{}]+)\}")


def fields_of(template: str) -> list[str]:
    """The fields that `template` names, in order.

    Raises:
        ValueError: a brace without its partner, or empty braces.
    """
    if re.search(r"[{}]", _FIELD.sub("", template)):
        raise ValueError(f"{template!r} has a brace without its partner; write {{field}}")
    return _FIELD.findall(template)


def fill(template: str, payload: dict[str, object]) -> str:
    """`template` with each `{field}` replaced by the payload's text, number or truth value.

    Raises:
        Rejected: a field is missing, empty, or holds something else.
    """

    def value_of(found: re.Match[str]) -> str:
        name = found[1]
        value = payload.get(name)
        if isinstance(value, bool):
            return "true" if value else "false"
        if value == "" or not isinstance(value, (str, int, float)):
            raise Rejected(
                f"{name}: '{template}' needs a text or a number here", f"give {name}=VALUE"
            )
        return str(value)

    return _FIELD.sub(value_of, template)
