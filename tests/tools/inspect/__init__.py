"""Who holds what, as holdfast.inspect sees it."""
