"""An Airflow DAG: anonymize a day's file, and hand it on only if the audit says that every promise held."""

from __future__ import annotations

from datetime import datetime

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

RAW, CLEAN = "s3://raw/visits/{{ ds }}.parquet", "s3://lake/visits/{{ ds }}.parquet"
DRAFT, TRACE = "/var/lib/shoal/{{ ds }}.parquet", "/var/lib/shoal/{{ ds }}.trace.jsonl"

with DAG("anonymize", schedule="@daily", start_date=datetime(2026, 1, 1), catchup=False):
    run = BashOperator(task_id="run", bash_command=f"shoal run policy.yaml {RAW} {DRAFT} --trace {TRACE}")
    audit = BashOperator(task_id="audit", bash_command=f"shoal audit policy.yaml {RAW} {DRAFT} --trace {TRACE}")
    publish = BashOperator(task_id="publish", bash_command=f"aws s3 cp {DRAFT} {CLEAN} && rm {DRAFT} {TRACE}")
    run >> audit >> publish
