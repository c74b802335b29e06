-- Exact percentiles of groups, over the activations that ran: the upper edge of the cell in which the percentile lies.
-- A percentile is NULL if less than one value lies beyond it. The program puts a name of a column in the place of
-- {group}.
WITH merged AS (
  SELECT {group} AS grouped, c.low_ns AS low_ns, c.high_ns AS high_ns, CAST(SUM(c.n) AS BIGINT) AS n
  FROM cells AS c JOIN runs AS r ON r.run = c.run
  WHERE c.traced = 0
  GROUP BY {group}, c.low_ns, c.high_ns
),
ranked AS (
  SELECT grouped, high_ns,
         CAST(SUM(n) OVER (PARTITION BY grouped ORDER BY low_ns, high_ns ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS BIGINT) AS upto,
         CAST(SUM(n) OVER (PARTITION BY grouped) AS BIGINT) AS total
  FROM merged
)
SELECT grouped, MAX(total) AS activations,
       MIN(CASE WHEN (total - upto) * 2 <= total AND total >= 2 THEN high_ns END) AS p50_ns,
       MIN(CASE WHEN (total - upto) * 100 <= total AND total >= 100 THEN high_ns END) AS p99_ns,
       MIN(CASE WHEN (total - upto) * 1000 <= total AND total >= 1000 THEN high_ns END) AS p99_9_ns,
       MIN(CASE WHEN (total - upto) * 10000 <= total AND total >= 10000 THEN high_ns END) AS p99_99_ns,
       MIN(CASE WHEN (total - upto) * 100000 <= total AND total >= 100000 THEN high_ns END) AS p99_999_ns,
       MAX(high_ns) AS max_ns
FROM ranked
GROUP BY grouped
ORDER BY grouped;
