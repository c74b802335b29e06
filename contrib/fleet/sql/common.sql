-- What all questions share: runs and machines judged for the need. The view params comes before: budget_ns (NULL takes
-- the budget of each recording), per_million (misses of a million releases that are accepted) and machine. The
-- view late comes from own-budget.sql or recorded-budget.sql.
CREATE VIEW judged AS
SELECT r.run AS run, r.machine AS machine, r.started AS started, r.max_ns AS max_ns, r.ran + r.skipped AS due,
       CASE WHEN p.budget_ns IS NULL THEN COALESCE(r.over_budget, 0) ELSE COALESCE(l.n, 0) END + r.skipped AS missed,
       p.per_million AS per_million
FROM runs AS r LEFT JOIN late AS l ON l.run = r.run CROSS JOIN params AS p
WHERE r.kind = 'recording' AND r.ran + r.skipped > 0;

CREATE VIEW machines AS
SELECT machine, CAST(COUNT(*) AS BIGINT) AS runs, CAST(SUM(due) AS BIGINT) AS due,
       CAST(SUM(missed) AS BIGINT) AS missed, MAX(max_ns) AS max_ns, MAX(started) AS newest,
       CASE WHEN CAST(SUM(missed) AS DOUBLE) * 1000000 > CAST(SUM(due) AS DOUBLE) * MAX(per_million) THEN 1 ELSE 0 END AS bad
FROM judged GROUP BY machine;

CREATE VIEW items AS
SELECT run, machine, started, 'kernel release' AS item, kernel_release AS value FROM runs
UNION ALL SELECT run, machine, started, 'program' AS item, program AS value FROM runs
UNION ALL SELECT run, machine, started, name AS item, value FROM settings WHERE name <> 'kernel';
