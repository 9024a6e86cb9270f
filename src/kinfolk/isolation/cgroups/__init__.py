"""Control groups: the kernel's own limits of the memory and the processes of each worker."""
