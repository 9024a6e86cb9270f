"""The page of each kind of run as plain data: which figures and tables the viewer shows of it."""
