"""Family trees: kept by kernels while a world runs, measured and exported afterwards."""
