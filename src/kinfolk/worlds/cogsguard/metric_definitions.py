"""What each metric and counter of CogsGuard is: by pattern of its name, its unit and definition.

`{0}` stands for the first group of the pattern: the team, or nothing if it is the sum of all teams.
"""

from __future__ import annotations

_OF = "(|_team_[0-9]+)"
_SIDE = "_(team_[0-9]+|clips)"
_FULL = "; none for episodes that did not reach the time limit"
METRIC_DEFINITIONS = {
    f"junction_ticks_held{_OF}": (
        "junction-ticks",
        "ticks that junctions were held, summed" + _FULL,
    ),
    "junction_ticks_held_clips": ("junction-ticks", "ticks that the clips held junctions" + _FULL),
    f"junctions_aligned{_OF}": ("junctions", "junctions that agents aligned" + _FULL),
    f"junctions_scrambled{_OF}": ("junctions", "junctions that agents scrambled" + _FULL),
    f"elements_deposited{_OF}": ("elements", "elements that agents brought to a hub" + _FULL),
    f"elements_mined{_OF}": ("elements", "elements that agents mined, of all four kinds" + _FULL),
    f"aligned{_OF}": ("junctions", "junctions that agents aligned"),
    f"scrambled{_OF}": ("junctions", "junctions that agents scrambled"),
    f"(carbon|oxygen|germanium|silicon)_mined{_OF}": ("elements", "{0} that agents mined"),
    f"deposited{_OF}": ("elements", "elements that agents brought to a hub"),
    f"hearts_made{_OF}": ("hearts", "hearts that agents had made"),
    f"hearts_taken{_OF}": ("hearts", "hearts that agents received"),
    f"hearts_spent{_OF}": ("hearts", "hearts that agents spent on junctions"),
    f"gear_changes{_OF}": ("events", "changes of gear"),
    f"explored{_OF}": ("cells", "cells that were ever in an agent's window, summed over agents"),
    f"moves{_OF}": ("moves", "moves that succeeded"),
    f"bumps_failed{_OF}": ("moves", "moves into a wall, an agent, or an object of no use"),
    f"actions_without_energy{_OF}": ("actions", "actions that failed for want of energy"),
    f"ticks_without_motion{_OF}": (
        "ticks",
        "ticks in which agents did not move, summed over agents",
    ),
    f"ticks_at_hp_0{_OF}": ("ticks", "ticks of agents at 0 hit points, summed over agents"),
    f"held_ticks{_OF}": (
        "junction-ticks",
        "ticks that junctions stayed with those who aligned them",
    ),
    f"junction_ticks{_SIDE}": ("junction-ticks", "ticks that {0} held junctions, summed"),
    f"junctions_won{_SIDE}": ("junctions", "junctions that {0} won"),
    f"junctions_lost{_SIDE}": ("junctions", "junctions that {0} lost"),
    "births_(team_[0-9]+)": ("agents", "births in {0}"),
}
