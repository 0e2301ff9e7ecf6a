"""The promises of every kind of lock: kind x (sync, asyncio) x server. A kind is a row in kinds.py.

One promise is one test. No test here waits for time to pass, except those marked `realtime`.
"""
