"""The modules of holdfast.contrib in real processes of the real frameworks: `nox -s frameworks`.

In contrib/ they run alone, in the quick run.
"""
