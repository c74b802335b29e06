-- For each finding, how many machines that have it are bad, and how many of those that do not. A machine has a finding
-- if it was bad in at least half of the audits that could judge it. The program adds limits and odds to these counts.
SELECT h.candidate AS candidate,
       CAST(SUM(CASE WHEN h.has = 1 AND m.bad = 1 THEN 1 ELSE 0 END) AS BIGINT) AS bad_with,
       CAST(SUM(CASE WHEN h.has = 1 AND m.bad = 0 THEN 1 ELSE 0 END) AS BIGINT) AS good_with,
       CAST(SUM(CASE WHEN h.has = 0 AND m.bad = 1 THEN 1 ELSE 0 END) AS BIGINT) AS bad_without,
       CAST(SUM(CASE WHEN h.has = 0 AND m.bad = 0 THEN 1 ELSE 0 END) AS BIGINT) AS good_without
FROM (
  SELECT machine, finding AS candidate,
         CASE WHEN SUM(CASE WHEN state = 'bad' THEN 1 ELSE 0 END) * 2 >= COUNT(*) THEN 1 ELSE 0 END AS has
  FROM findings WHERE state = 'good' OR state = 'bad'
  GROUP BY machine, finding
) AS h JOIN machines AS m ON m.machine = h.machine
GROUP BY h.candidate
ORDER BY candidate;
