"""Figures for papers, drawn by matplotlib: estimates, curves, matrices and profiles."""
