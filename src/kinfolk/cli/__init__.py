"""The command line: parse, build settings, call a job, print. The only layer that prints."""
