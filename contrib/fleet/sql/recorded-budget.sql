-- For the budget of each recording, which counted its misses itself: nothing has to be counted from cells.
CREATE VIEW late AS
SELECT run, CAST(0 AS BIGINT) AS n FROM runs WHERE run IS NULL;
