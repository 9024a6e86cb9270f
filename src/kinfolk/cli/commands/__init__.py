"""Commands of the `kinfolk` program, one file each."""
