"""One page about a fitted model: `bayesnb.report`."""
