"""Steps of a large world, whose agents threads share."""
