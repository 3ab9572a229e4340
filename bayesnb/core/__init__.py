"""What everything else stands on: supports, pytrees, special functions, draws, threads, and the writing of files."""
