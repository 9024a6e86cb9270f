"""What agents see: lines of sight, and observations as float32 planes or compact words."""
