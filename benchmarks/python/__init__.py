"""The contenders in Python: worker programs, one file for each."""
