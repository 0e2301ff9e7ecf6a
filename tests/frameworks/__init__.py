"""The modules of holdfast.contrib in real processes of the real frameworks: `nox -s frameworks`."""
