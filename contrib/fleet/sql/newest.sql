-- The percentiles of the newest run of each machine, and of up to 20 runs before it. The program compares the newest
-- with what the others differ from each other.
WITH numbered AS (
  SELECT run, machine, started, due, missed,
         ROW_NUMBER() OVER (PARTITION BY machine ORDER BY started DESC, run DESC) AS age
  FROM judged
),
merged AS (
  SELECT c.run AS run, c.low_ns AS low_ns, c.high_ns AS high_ns, CAST(SUM(c.n) AS BIGINT) AS n
  FROM cells AS c WHERE c.traced = 0 GROUP BY c.run, c.low_ns, c.high_ns
),
ranked AS (
  SELECT run, high_ns,
         CAST(SUM(n) OVER (PARTITION BY run ORDER BY low_ns, high_ns ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS BIGINT) AS upto,
         CAST(SUM(n) OVER (PARTITION BY run) AS BIGINT) AS total
  FROM merged
),
percentiles AS (
  SELECT run,
         MIN(CASE WHEN (total - upto) * 2 <= total THEN high_ns END) AS p50_ns,
         MIN(CASE WHEN (total - upto) * 100 <= total AND total >= 1000 THEN high_ns END) AS p99_ns,
         MIN(CASE WHEN (total - upto) * 1000 <= total AND total >= 10000 THEN high_ns END) AS p99_9_ns
  FROM ranked GROUP BY run
)
SELECT n.machine AS machine, n.age AS age, n.due AS due, n.missed AS missed, q.p50_ns AS p50_ns, q.p99_ns AS p99_ns,
       q.p99_9_ns AS p99_9_ns
FROM numbered AS n JOIN percentiles AS q ON q.run = n.run
WHERE n.age <= 21
ORDER BY machine, age;
