"""Files of the original CogsGuard: recorded scenes."""
