"""Ways in which a file gets damaged, by a seed."""

import random


def damages(data, seed, cuts, flips):
    """Yield `(what was done, bytes)`; None stands for a folder in the file's place.

    Args:
        data: The sound file.
        seed: Of the places that are damaged.
        cuts: In how many places it is cut short.
        flips: In how many places a bit, and in how many a byte, is another.
    """
    chance = random.Random(seed)
    yield "empty", b""
    yield "a folder", None
    yield "random bytes", chance.randbytes(max(16, min(len(data), 4096)))
    for _ in range(cuts):
        at = chance.randrange(len(data))
        yield f"cut at {at}", data[:at]
    for _ in range(flips):
        at, bit = chance.randrange(len(data)), 1 << chance.randrange(8)
        yield f"bit {bit} of {at}", data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :]
        at, byte = chance.randrange(len(data)), chance.randrange(256)
        yield f"byte {at} is {byte}", data[:at] + bytes([byte]) + data[at + 1 :]
    for _ in range(flips):  # headers lie at the beginning
        at, bit = chance.randrange(min(len(data), 600)), 1 << chance.randrange(8)
        yield f"bit {bit} of {at}", data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :]
