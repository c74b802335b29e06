-- What differs on one machine between its last good run and the first run after it that was not good. No rows if it is
-- good now, or never was.
WITH own AS (
  SELECT j.run AS run, j.started AS started,
         CASE WHEN CAST(j.missed AS DOUBLE) * 1000000 > CAST(j.due AS DOUBLE) * j.per_million THEN 1 ELSE 0 END AS bad
  FROM judged AS j JOIN params AS p ON p.machine = j.machine
),
last_good AS (SELECT run, started FROM own WHERE bad = 0 ORDER BY started DESC, run DESC LIMIT 1),
first_bad AS (
  SELECT o.run AS run, o.started AS started FROM own AS o CROSS JOIN last_good AS g
  WHERE o.bad = 1 AND o.started > g.started ORDER BY o.started, o.run LIMIT 1
),
sides AS (
  SELECT item, 'good' AS side, value FROM items AS i JOIN last_good AS g ON g.run = i.run
  UNION ALL SELECT item, 'bad' AS side, value FROM items AS i JOIN first_bad AS b ON b.run = i.run
  UNION ALL SELECT finding AS item, 'good' AS side, state AS value FROM findings AS f JOIN last_good AS g ON g.run = f.run
  UNION ALL SELECT finding AS item, 'bad' AS side, state AS value FROM findings AS f JOIN first_bad AS b ON b.run = f.run
),
paired AS (
  SELECT item, MAX(CASE WHEN side = 'good' THEN value END) AS was, MAX(CASE WHEN side = 'bad' THEN value END) AS became
  FROM sides GROUP BY item
)
SELECT item, was, became FROM paired CROSS JOIN first_bad
WHERE COALESCE(was, '') <> COALESCE(became, '')
ORDER BY item;
