"""Encoders that turn observation bytes into network input."""
