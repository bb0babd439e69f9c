"""What a process keeps open and how its processes work together: handles, caches, tasks, hosts."""
