"""Which names of fields and variables say that their value is a secret; it knows no values.

Loaded by every write, so it compiles no pattern for names in one case, which most are.
"""

from functools import lru_cache

WORDS = {
    "password": ("password", "passwords", "passwd", "passphrase", "pwd", "pass"),
    "api-key": (
        *("api_key", "api_keys", "apikey", "apikeys", "access_key", "accesskey", "secret_key"),
        *("private_key", "privatekey", "signing_key", "encryption_key", "auth_key", "master_key"),
    ),
    "secret": ("secret", "secrets", "credential", "credentials", "authorization"),
    "token": (
        *("access_token", "auth_token", "refresh_token", "api_token", "bearer_token", "id_token"),
        *("session_token", "secret_token", "run_token", "bot_token", "token", "auth_tokens"),
    ),
}
"""Kind of mask -> how a name ends that says so: in lower case, its words joined by `_`."""

_ORDINARY = frozenset({"pass", "pwd", "secret", "secrets", "credentials", "authorization", "token"})
"""Words with another meaning too: by themselves they tell only of a value that looks random."""

_HINTS = ("pass", "pwd", "secret", "credential", "authorization", "key", "token", "pat")
_NAME = 200  # characters of a name at most


@lru_cache(maxsize=4096)
def secret_name(name: str, *, variable: bool = False) -> str:
    """The kind of secret that a field of this name holds, "" when it holds none.

    A kind with a `?` says that it depends on the value, as with `token`.

    Args:
        name: `API_KEY`, `apiKey`, `db.password`, `X-Api-Key`; of any case.
        variable: it is an environment variable: `GH_PAT` and `STRIPE_KEY` tell as well.
    """
    lower = name.lower()
    if len(name) > _NAME or not any(map(lower.__contains__, _HINTS)):
        return ""
    words = _spread(name).lower().strip("_")
    for kind, ends in WORDS.items():
        for end in ends:
            if words == end:
                return f"{kind}?" if end in _ORDINARY else kind
            if words.endswith(f"_{end}"):
                return f"{kind}?" if end == "token" else kind
    if (variable or name.isupper()) and words.endswith(("_key", "_pat")):
        return "api-key?"
    return ""


def _spread(name: str) -> str:
    """`name` with one `_` between its words."""
    if name.replace("_", "").isalnum() and (name.isupper() or name.islower()):
        return name
    import re

    return re.sub(r"[^A-Za-z0-9]+", "_", re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name))
