"""The Lua steps alone: redis-py against real servers and fakeredis, nothing compiled."""
