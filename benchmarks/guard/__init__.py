"""How soon a killed program's lock is the next owner's, and that no living program loses one."""
