-- For each change of a kernel, program or setting, on how many machines the share of misses rose, and on how many it
-- fell. Every machine is its own measure, so that what differs from machine to machine does not count.
SELECT item, was, became, CAST(COUNT(*) AS BIGINT) AS machines,
       CAST(SUM(CASE WHEN after_share > before_share THEN 1 ELSE 0 END) AS BIGINT) AS worse,
       CAST(SUM(CASE WHEN after_share < before_share THEN 1 ELSE 0 END) AS BIGINT) AS better
FROM (
  SELECT machine, item, value AS became,
         LAG(value) OVER (PARTITION BY machine, item ORDER BY first_seen, value) AS was,
         missed / due AS after_share,
         LAG(missed / due) OVER (PARTITION BY machine, item ORDER BY first_seen, value) AS before_share
  FROM (
    SELECT i.machine AS machine, i.item AS item, i.value AS value, MIN(i.started) AS first_seen,
           CAST(SUM(j.missed) AS DOUBLE) AS missed, CAST(SUM(j.due) AS DOUBLE) AS due
    FROM items AS i JOIN judged AS j ON j.run = i.run
    WHERE i.value IS NOT NULL
    GROUP BY i.machine, i.item, i.value
  ) AS spans
) AS changes
WHERE was IS NOT NULL
GROUP BY item, was, became
ORDER BY worse - better DESC, item, was, became;
