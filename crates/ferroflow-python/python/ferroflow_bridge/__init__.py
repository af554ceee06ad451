"""The Python half of ferroflow's bridge: a fork server, and what its children do.

The sources are built into the ferroflow binary and handed to Python in memory; nothing of this is installed.
"""
