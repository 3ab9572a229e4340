"""What one fitted model answers: leave-one-out, intervals, explanation, tables, draws for ArviZ."""
