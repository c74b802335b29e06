"""Asks every ready question of three engines and compares the answers: three_engines.py TABLES PUNCTUAL."""
import json
import os
import subprocess
import sys

QUESTIONS = ["worst", "shared", "brought", "changed", "percentiles", "newest"]


def statements(text):
    lines = [line for line in text.splitlines() if not line.strip().startswith("--")]
    return [part.strip().rstrip(";") for part in "\n".join(lines).split(";\n") if part.strip().rstrip(";")]


def duckdb(text):
    import duckdb

    return [tuple(row) for row in duckdb.connect().execute(text).fetchall()]


def datafusion(text):
    import datafusion

    context = datafusion.SessionContext()
    for statement in statements(text):
        last = context.sql(statement)
    names = [field.name for field in last.schema()]
    batches = [batch.to_pydict() for batch in last.collect()]
    return [row for batch in batches for row in zip(*[batch[name] for name in names])]


def clickhouse(text):
    from chdb import session

    open_session = session.Session()
    for statement in statements(text)[:-1]:
        open_session.query(statement)
    answer = json.loads(str(open_session.query(statements(text)[-1], "JSONCompact")))
    open_session.close()
    # Whole numbers of 64 bits are texts in this format.
    whole = ["Int" in column["type"] for column in answer["meta"]]
    number = lambda value, is_whole: int(value) if is_whole and value is not None else value
    return [tuple(number(*pair) for pair in zip(row, whole)) for row in answer["data"]]


def main(tables, punctual):
    os.chdir(tables)
    machine = None
    for question in QUESTIONS:
        answers = {}
        for engine in (duckdb, datafusion, clickhouse):
            words = [punctual, "fleet", "ask", ".", question, "--sql", engine.__name__]
            words += ["--machine", machine] if machine else []
            text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
            answers[engine.__name__] = engine(text)
        if question == "worst":
            machine = answers["duckdb"][0][0]
        for engine, answer in answers.items():
            if answer != answers["duckdb"]:
                differing = [pair for pair in zip(answer, answers["duckdb"]) if pair[0] != pair[1]]
                sys.exit(f"{question}: {engine} differs from duckdb: {differing[:3]}")
    print(f"{len(QUESTIONS)} questions, 3 engines, the same answers")


main(*sys.argv[1:])
