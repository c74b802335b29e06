-- The machines that miss the largest share of their releases.
SELECT machine, runs, due, missed, max_ns, bad
FROM machines
ORDER BY CAST(missed AS DOUBLE) / CAST(due AS DOUBLE) DESC, max_ns DESC, machine
LIMIT 20;
