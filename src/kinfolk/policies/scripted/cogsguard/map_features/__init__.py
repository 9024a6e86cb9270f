"""Map features: what an agent has seen of the map, as the input of a network."""
