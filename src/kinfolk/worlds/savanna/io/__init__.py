"""Files of the published savanna: golden traces, event logs, configurations."""
