"""What a process keeps open and shares with others: handles, caches, steps, counters."""
