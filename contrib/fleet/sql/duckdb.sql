-- The tables of a packed fleet, for DuckDB. Run it in the folder of the tables, then common.sql, then a question.
CREATE VIEW runs AS
SELECT r.* FROM read_parquet('runs/*/*.parquet', hive_partitioning = true, union_by_name = true) AS r
ANTI JOIN read_parquet('retired/*.parquet') AS o ON o.run = r.run AND o.version = r.version;
CREATE VIEW latencies AS
SELECT r.* FROM read_parquet('latencies/*/*.parquet', hive_partitioning = true, union_by_name = true) AS r
ANTI JOIN read_parquet('retired/*.parquet') AS o ON o.run = r.run AND o.version = r.version;
CREATE VIEW findings AS
SELECT r.* FROM read_parquet('findings/*/*.parquet', hive_partitioning = true, union_by_name = true) AS r
ANTI JOIN read_parquet('retired/*.parquet') AS o ON o.run = r.run AND o.version = r.version;
CREATE VIEW settings AS
SELECT r.* FROM read_parquet('settings/*/*.parquet', hive_partitioning = true, union_by_name = true) AS r
ANTI JOIN read_parquet('retired/*.parquet') AS o ON o.run = r.run AND o.version = r.version;
CREATE VIEW causes AS
SELECT r.* FROM read_parquet('causes/*/*.parquet', hive_partitioning = true, union_by_name = true) AS r
ANTI JOIN read_parquet('retired/*.parquet') AS o ON o.run = r.run AND o.version = r.version;
CREATE VIEW cells AS
SELECT run, cpu, phase, traced, cell.low_ns AS low_ns, cell.high_ns AS high_ns, cell.count AS n
FROM (SELECT run, cpu, phase, traced, UNNEST(histogram) AS cell FROM latencies);
