"""Why a behaviour cannot start or act, as numbers for kernels and as words for people."""

from __future__ import annotations

YES = 1
HOLD = 16  # added to a move: not to be interrupted now

REASONS = (
    "",
    "no way is known",
    "it needs no recharging",
    "the cargo is full",
    "no usable extractor is known",
    "it carries nothing",
    "no depot is known",
    "the cargo is not full and there is more to mine",
    "a usable extractor is known",
    "all buildings are known",
    "enough extractors are known",
    "no more junctions are expected",
    "it has enough hearts",
    "the store can pay no heart",
    "no chest is known",
    "it has enough influence",
    "this edition has no influence",
    "the gear cannot be had",
    "it has no heart",
    "it has too little influence for the way",
    "no junction that can be aligned is known",
    "no enemy junction is known",
    "an enemy junction is known",
    "it says so",
)
(
    _,
    NO_WAY,
    FULL,
    CARGO_FULL,
    NO_EXTRACTOR,
    NOTHING_CARRIED,
    NO_DEPOT,
    NOT_YET,
    HAS_EXTRACTOR,
    ALL_BUILDINGS,
    ENOUGH_EXTRACTORS,
    NO_MORE_JUNCTIONS,
    ENOUGH_HEARTS,
    STORE_EMPTY,
    NO_CHEST,
    ENOUGH_INFLUENCE,
    NO_INFLUENCE_RULE,
    NO_GEAR,
    NO_HEART,
    LITTLE_INFLUENCE,
    NO_NEUTRAL,
    NO_ENEMY,
    HAS_ENEMY,
    PLAIN_NO,
) = (-i for i in range(len(REASONS)))


def reason_words(code: int) -> str:
    """The words of a reason, given as kernels give it: a number below zero."""
    return REASONS[-code] if 0 < -code < len(REASONS) else "it says so"
