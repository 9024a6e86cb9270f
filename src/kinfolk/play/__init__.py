"""The episode loop. It exists once; everything that plays uses it."""
