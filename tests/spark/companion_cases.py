"""Statements with equal answers from a companion and its source; `{t}` is the table."""

CASES = (
    "SELECT * FROM {t}",
    "SELECT * FROM {t} WHERE id BETWEEN 5 AND 1010",
    "SELECT id FROM {t} WHERE part = 1 AND level IS NULL",
    "SELECT count(*), count(level), sum(id), min(level), max(message) FROM {t}",
    "SELECT level, part, count(*), sum(id) FROM {t} GROUP BY level, part",
    "SELECT id, message FROM {t} ORDER BY id DESC LIMIT 7",
    "SELECT message FROM {t} WHERE message LIKE 'word1%' AND id > 100",
    "SELECT count(DISTINCT level) FROM {t} WHERE NOT (level = 1)",
)
