"""Training in a league: main agents, exploiters and snapshots of both play each other."""
