"""Generated maps: terrain, junctions and extractors, compounds, and ways between them."""
