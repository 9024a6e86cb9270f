"""CogsGuard: a team game on a grid, after cogames (MIT licence), native and batched.

Cogs mine elements, make hearts, put on gear and hold junctions against the clips, an automatic
opponent that spreads by itself. Edition F (influence and a chest) is the default, edition A
(territory and ships) a setting.
"""
