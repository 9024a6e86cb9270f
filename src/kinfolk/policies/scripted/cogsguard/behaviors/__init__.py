"""kinfolk/policies/scripted/cogsguard/behaviors."""
