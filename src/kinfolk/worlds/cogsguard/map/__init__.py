"""Maps of CogsGuard: generated, or parsed from text."""
