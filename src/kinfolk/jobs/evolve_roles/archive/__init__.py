"""Quality diversity: an archive of teams and roles that play in different ways."""
