"""An Airflow DAG: anonymize a day's file, and hand it on only if the audit says that every promise held."""

from __future__ import annotations

import os
from datetime import datetime

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

FOLDER = os.environ.get("SHOAL_FOLDER", "/var/lib/shoal")  # holds policy.yaml and raw/; readers look into clean/ alone
RAW, DRAFT, TRACE = "raw/{{ ds }}.parquet", "draft/{{ ds }}.parquet", "draft/{{ ds }}.trace.jsonl"

with DAG("anonymize", schedule="@daily", start_date=datetime(2026, 1, 1), catchup=False):
    run = BashOperator(
        task_id="run", cwd=FOLDER, bash_command=f"mkdir -p draft && shoal run policy.yaml {RAW} {DRAFT} --trace {TRACE}"
    )
    audit = BashOperator(task_id="audit", cwd=FOLDER, bash_command=f"shoal audit policy.yaml {RAW} {DRAFT} --trace {TRACE}")
    publish = BashOperator(task_id="publish", cwd=FOLDER, bash_command=f"mkdir -p clean && mv {DRAFT} clean/ && rm {TRACE}")
    run >> audit >> publish
