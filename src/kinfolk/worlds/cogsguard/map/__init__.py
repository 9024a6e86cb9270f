"""Maps of CogsGuard: drawn as text, generated, laid out."""
