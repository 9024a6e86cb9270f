"""Look at runs: a web server over the store, and the page that it serves."""
