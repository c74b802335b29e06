-- The tables of a packed fleet, for ClickHouse: clickhouse local, or chdb. Run it in the folder of the tables, then
-- common.sql, then a question. On a cluster, put s3Cluster('CLUSTER', 'https://.../runs/*/*.parquet') in the place of
-- file(...).
SET join_use_nulls = 1;
SET schema_inference_mode = 'union';
SET use_hive_partitioning = 1;
SET prefer_column_name_to_alias = 1;
CREATE VIEW runs AS
SELECT r.* FROM file('runs/*/*.parquet', Parquet) AS r
LEFT ANTI JOIN file('retired/*.parquet', Parquet) AS o ON o.run = r.run AND o.version = r.version;
CREATE VIEW latencies AS
SELECT r.* FROM file('latencies/*/*.parquet', Parquet) AS r
LEFT ANTI JOIN file('retired/*.parquet', Parquet) AS o ON o.run = r.run AND o.version = r.version;
CREATE VIEW findings AS
SELECT r.* FROM file('findings/*/*.parquet', Parquet) AS r
LEFT ANTI JOIN file('retired/*.parquet', Parquet) AS o ON o.run = r.run AND o.version = r.version;
CREATE VIEW settings AS
SELECT r.* FROM file('settings/*/*.parquet', Parquet) AS r
LEFT ANTI JOIN file('retired/*.parquet', Parquet) AS o ON o.run = r.run AND o.version = r.version;
CREATE VIEW causes AS
SELECT r.* FROM file('causes/*/*.parquet', Parquet) AS r
LEFT ANTI JOIN file('retired/*.parquet', Parquet) AS o ON o.run = r.run AND o.version = r.version;
CREATE VIEW cells AS
SELECT run, cpu, phase, traced, tupleElement(cell, 'low_ns') AS low_ns, tupleElement(cell, 'high_ns') AS high_ns,
       tupleElement(cell, 'count') AS n
FROM latencies ARRAY JOIN histogram AS cell;
