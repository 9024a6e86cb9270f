"""Entries in other libraries' tables of environments, made when asked for."""

from __future__ import annotations

from kinfolk.worlds import WORLDS

_HERE = "kinfolk.worlds.adapters.making"
# What is appended to a world's name, and the function that makes it.
_PETTINGZOO = {"": f"{_HERE}:make_parallel", "-slots": f"{_HERE}:make_fixed_slots"}


def register() -> tuple[str, ...]:
    """Enter all worlds into the tables of PettingZoo and Gymnasium; returns the ids.

    Afterwards these work, with settings, `preset` and `seed` as keywords:

        pettingzoo.make("parallel", "kinfolk/savanna-v0")        true births and deaths
        pettingzoo.make("parallel", "kinfolk/savanna-slots-v0")  the fixed-slot view
        gymnasium.make("kinfolk/savanna-v0")                     one controller for all

    PettingZoo has a table since 1.27; with an older one only Gymnasium's is filled. Gymnasium
    takes nothing but environments of one agent. Twice is once.
    """
    import gymnasium
    import pettingzoo

    ids = []
    table = getattr(pettingzoo, "parallel_registry", None)
    for name in WORLDS:
        for suffix, entry_point in _PETTINGZOO.items():
            id = f"kinfolk/{name}{suffix}-v0"
            if table is not None and id not in table:
                pettingzoo.register("parallel", id, entry_point=entry_point, kwargs={"name": name})
            if table is not None:
                ids.append(id)
        id = f"kinfolk/{name}-v0"
        if id not in gymnasium.registry:
            gymnasium.register(id, f"{_HERE}:make_central", kwargs={"name": name})
        ids.append(id)
    return tuple(dict.fromkeys(ids))
