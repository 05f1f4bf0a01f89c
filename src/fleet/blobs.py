"""What outlives the run it was made for, under the hash of its content: `blobs/<sha256>`.

Texts and JSON objects that many runs share, kept once; what they mean is decided elsewhere.
"""

import base64
import hashlib
import json
import zlib
from contextlib import suppress

from fleet.errors import Conflict
from fleet.masking import mask, mask_body
from fleet.ports import Store
from fleet.records import MAX_DOCUMENT, Body

PREFIX = "blobs/"
_ROOM = MAX_DOCUMENT - 1024  # bytes of a body: the rest of a document is its frame


def name_of(content: str | Body) -> str:
    """The hash that `content` is kept under: 64 hex digits, equal for equal content."""
    return hashlib.sha256(_bytes(content)).hexdigest()


def keep(store: Store, content: str | Body) -> str | None:
    """Keep `content` and return its hash; None when it is too large, compressed as well.

    What is there already costs one look. Secrets in it are masked, its hash is that of the whole.
    """
    name = name_of(content)
    if store.get(PREFIX + name)[1]:
        return name
    body = _body(mask(content) if isinstance(content, str) else mask_body(content))
    if body is None:
        return None
    with suppress(Conflict):  # another process kept the same
        store.put(PREFIX + name, body, expect=0)
    return name


def load(store: Store, name: str) -> str | Body | None:
    """What was kept under `name`; None when there is nothing."""
    body = store.get(PREFIX + name)[0]
    if body is None:
        return None
    if "zlib" in body:
        plain = zlib.decompress(base64.b64decode(str(body["zlib"]))).decode()
        body = {"text": plain} if body.get("of") == "text" else {"value": json.loads(plain)}
    value = body.get("value")
    return value if isinstance(value, dict) else str(body.get("text", ""))


def _body(content: str | Body) -> Body | None:
    of = "text" if isinstance(content, str) else "value"
    plain: Body = {of: content}
    if len(json.dumps(plain, ensure_ascii=False).encode()) <= _ROOM:
        return plain
    packed = base64.b64encode(zlib.compress(_bytes(content), 9)).decode()
    return {"zlib": packed, "of": of} if len(packed) <= _ROOM else None


def _bytes(content: str | Body) -> bytes:
    if isinstance(content, str):
        return content.encode()
    return json.dumps(content, ensure_ascii=False, sort_keys=True).encode()
