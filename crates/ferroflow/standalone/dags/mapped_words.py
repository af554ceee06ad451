"""One task that becomes many: how many is known only when the run has begun.

`letters` is mapped over the list that `words` returns, so there is one task instance for each word,
and they run side by side. `longest` gets the results of all.
"""

from __future__ import annotations

from datetime import datetime

from airflow.sdk import DAG, task

with DAG(
    "example_mapped_words",
    description="Tasks that are mapped over a list",
    schedule="@hourly",
    start_date=datetime(2024, 1, 1),
    is_paused_upon_creation=False,
    tags=["ferroflow"],
):

    @task
    def words() -> list[str]:
        return ["every", "task", "instance", "runs", "in", "a", "process", "of", "its", "own"]

    @task
    def letters(word: str) -> int:
        print(f"{word} has {len(word)} letters")
        return len(word)

    @task
    def longest(lengths: list[int]) -> int:
        return max(lengths)

    longest(letters.expand(word=words()))
