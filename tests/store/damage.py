"""Ways to damage a file, and to give a changed file its right checksums again."""

import random
import re
from hashlib import sha256

from kinfolk.replay.codec import HEADER_BYTES, MAGIC
from kinfolk.store.integrity import BLANK_CHECKSUM, has_checksum, seal, seal_line

HEADER = 600  # bytes of most files in which a flip does more than in the data
MAX_SPAN = 64  # bytes that are overwritten, inserted or removed
FIELD = re.compile(rb'("sha256": ?")[0-9a-f]{64}"')


def flip(data, rng):
    """Flip one bit, in half of all cases within the header."""
    at = rng.randrange(min(len(data), HEADER) if rng.random() < 0.5 else len(data))
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]


def cut(data, rng):
    """Cut the file short, or its beginning off."""
    at = rng.randrange(len(data))
    return data[:at] if rng.random() < 0.8 else data[at:]


def overwrite(data, rng):
    """Overwrite a span with zeros, random bytes, text or another span of the file."""
    start, size = _span(data, rng)
    return data[:start] + _noise(data, rng, size) + data[start + size :]


def insert(data, rng):
    """Insert zeros, random bytes, text or a span of the file."""
    start, size = _span(data, rng)
    return data[:start] + _noise(data, rng, size) + data[start:]


def remove(data, rng):
    """Remove a span."""
    start, size = _span(data, rng)
    return data[:start] + data[start + size :]


def _span(data, rng):
    start = rng.randrange(len(data))
    return start, min(rng.randint(1, MAX_SPAN), len(data) - start)


def _noise(data, rng, size):
    start = rng.randrange(len(data))
    digits = bytes(rng.choice(b'0123456789eE.-+[]{}",: truefalsn') for _ in range(size))
    return rng.choice((bytes(size), rng.randbytes(size), digits, data[start : start + size]))


DAMAGES = (flip, cut, overwrite, insert, remove)


def damaged_copies(data, count, seed):
    """Yield `count` damaged copies of a file, with the name of what was done; none is equal to it."""
    rng = random.Random(seed)
    while count:
        damage = rng.choice(DAMAGES)
        copy = damage(data, rng)
        if copy != data:
            count -= 1
            yield damage.__name__, copy


def reseal_document(data):
    """Return a changed document with the right checksum, if it still has a field for it."""
    blank = FIELD.sub(rb"\g<1>" + BLANK_CHECKSUM.encode() + b'"', data[:512]) + data[512:]
    return seal(blank) if has_checksum(blank) else data


def reseal_log(data):
    """Return a changed log whose lines have the right checksums."""
    sealed, checksum = b"", ""
    for line in data.split(b"\n")[:-1]:
        text = line[:-80].decode(errors="replace") + "}"
        line, checksum = seal_line(text, checksum)
        sealed += line
    return sealed


def reseal_timings(data):
    """Return changed timings whose lines have the right checksums."""
    texts = [line[:-80].decode(errors="replace") + "}" for line in data.split(b"\n")[:-1]]
    return b"".join(seal_line(text)[0] for text in texts)


def reseal_replay(data):
    """Return a changed replay in which each record has the right checksums, as far as they go."""
    at, parts = len(MAGIC), [data[: len(MAGIC)]]
    while at + HEADER_BYTES <= len(data):
        fields = data[at : at + 48]
        length = int.from_bytes(fields[4:8], "little")
        payload = data[at + HEADER_BYTES : at + HEADER_BYTES + length]
        fields = fields[:16] + sha256(payload).digest()
        parts += [fields, sha256(fields).digest(), payload]
        at += HEADER_BYTES + length
    return b"".join(parts)
