-- For a budget of one's own: how many activations of each run were later. An activation is late if its whole cell lies
-- beyond the budget.
CREATE VIEW late AS
SELECT c.run AS run, CAST(SUM(c.n) AS BIGINT) AS n
FROM cells AS c CROSS JOIN params AS p
WHERE c.traced = 0 AND c.low_ns > p.budget_ns
GROUP BY c.run;
