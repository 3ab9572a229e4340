"""Tables: columns and their roles, files of cells, and data sets by name."""
