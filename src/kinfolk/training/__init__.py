"""Learning: experience is gathered per slot, judged by advantages, and learnt from by losses."""
