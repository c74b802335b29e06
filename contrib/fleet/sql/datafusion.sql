-- The tables of a packed fleet, for DataFusion. Run it in the folder of the tables, then common.sql, then a question.
CREATE EXTERNAL TABLE retired STORED AS PARQUET LOCATION 'retired/';
CREATE EXTERNAL TABLE all_runs STORED AS PARQUET PARTITIONED BY (month) LOCATION 'runs/';
CREATE EXTERNAL TABLE all_latencies STORED AS PARQUET PARTITIONED BY (month) LOCATION 'latencies/';
CREATE EXTERNAL TABLE all_findings STORED AS PARQUET PARTITIONED BY (month) LOCATION 'findings/';
CREATE EXTERNAL TABLE all_settings STORED AS PARQUET PARTITIONED BY (month) LOCATION 'settings/';
CREATE EXTERNAL TABLE all_causes STORED AS PARQUET PARTITIONED BY (month) LOCATION 'causes/';
CREATE VIEW runs AS
SELECT r.* FROM all_runs AS r LEFT ANTI JOIN retired AS o ON o.run = r.run AND o.version = r.version;
CREATE VIEW latencies AS
SELECT r.* FROM all_latencies AS r LEFT ANTI JOIN retired AS o ON o.run = r.run AND o.version = r.version;
CREATE VIEW findings AS
SELECT r.* FROM all_findings AS r LEFT ANTI JOIN retired AS o ON o.run = r.run AND o.version = r.version;
CREATE VIEW settings AS
SELECT r.* FROM all_settings AS r LEFT ANTI JOIN retired AS o ON o.run = r.run AND o.version = r.version;
CREATE VIEW causes AS
SELECT r.* FROM all_causes AS r LEFT ANTI JOIN retired AS o ON o.run = r.run AND o.version = r.version;
CREATE VIEW cells AS
SELECT run, cpu, phase, traced, cell['low_ns'] AS low_ns, cell['high_ns'] AS high_ns, cell['count'] AS n
FROM (SELECT run, cpu, phase, traced, UNNEST(histogram) AS cell FROM latencies);
