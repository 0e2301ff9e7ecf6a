"""What type checkers are told is what is there."""
