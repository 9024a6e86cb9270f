"""Map features: what an agent has seen of the map, as input of a network."""
