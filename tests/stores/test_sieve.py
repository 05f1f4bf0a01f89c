"""The byte test before parsing: it may let too much through, never too little."""

from hypothesis import given
from hypothesis import strategies as st

from fleet.records import Draft, Sieve
from fleet.stores import codec

WORDS = st.sampled_from(["a", "b", "type", '"type":"a"', "\n"])
BODIES = st.dictionaries(st.sampled_from(["type", "to", "said"]), st.none() | WORDS, max_size=3)
SIEVES = st.dictionaries(
    st.sampled_from(["type", "to"]), st.frozensets(st.none() | WORDS, min_size=1), max_size=2
)


@given(bodies=st.lists(BODIES, min_size=1, max_size=12), any_of=SIEVES)
def test_every_line_that_passes_is_found_whole_and_in_order(
    bodies: list[dict[str, object]], any_of: dict[str, frozenset[str | None]]
) -> None:
    """Of a chunk of lines the byte test finds each that the exact test would let through."""
    sieve = Sieve(any_of)
    lines = [
        codec.encode_record(
            "log", seq, codec.encode_body(Draft(body)), record_id="i", at="t", key=None
        )[0]
        for seq, body in enumerate(bodies, 1)
    ]
    chunk = b"".join(lines)

    spans = list(codec.Needles(sieve).spans(chunk))

    found = [chunk[start : stop + 1] for start, stop in spans]
    assert found == [line for line in lines if line in found], "whole lines, each once, in order"
    assert {line for line, body in zip(lines, bodies, strict=True) if sieve.passes(body)} <= {
        *found
    }
