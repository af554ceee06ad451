"""Tells the hash that the real Airflow gives to each document on standard input, one per line.

Deadlines in full are replaced by ids first, which count from 1.
"""

import json
import sys
import uuid

from airflow.models.serialized_dag import SerializedDagModel

for line in sys.stdin:
    document = json.loads(line)
    deadlines = document["dag"].get("deadline")
    if deadlines and not isinstance(deadlines[0], str):
        document["dag"]["deadline"] = [str(uuid.UUID(int=n + 1)) for n in range(len(deadlines))]
    print(SerializedDagModel.hash(document))
