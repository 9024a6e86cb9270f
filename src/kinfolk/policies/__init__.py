"""What agents do: scripted, evolved and trained policies, and how they are named."""
