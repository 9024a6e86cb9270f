"""The thirteen behaviours of CogsGuard, a file per source.

Each is three functions of the mind and a place in it. `can_start` returns YES or the reason why
not; `act` a move, with HOLD added when it must not be interrupted, or the reason why it cannot;
`should_terminate` whether it has ended. They are compiled one by one and called by address.
"""
