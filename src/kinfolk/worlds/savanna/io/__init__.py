"""Files of PredPreyGrass: golden traces, event logs, configurations."""
