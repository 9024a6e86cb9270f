"""What cogs know and do: memory, perception, paths, behaviours, and the roles made of them."""
