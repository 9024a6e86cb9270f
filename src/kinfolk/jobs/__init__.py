"""What kinfolk does, one job a file: settings in, a stream of events out. Start reading here."""
