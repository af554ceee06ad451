"""What Airflow answers to requests of user code, which are read from standard input.

Without an argument the DAG processor is asked; with the id of a task instance, the supervisor of that task.
The input is a JSON list of messages; the answer a list of `{"body": …, "error": …}`. A time is
`{"__time": microseconds}`.
"""

from __future__ import annotations

import datetime
import json
import sys
import types
import uuid

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def plain(value):
    if isinstance(value, datetime.datetime):
        return {"__time": (value - EPOCH) // datetime.timedelta(microseconds=1)}
    return getattr(value, "value", None) or str(value)


def let_in(api, instance: uuid.UUID) -> None:
    """Everybody is this task instance; what it may do is looked up as ever."""
    from airflow.api_fastapi.execution_api.datamodels.token import TIClaims, TIToken
    from airflow.api_fastapi.execution_api.security import _jwt_bearer

    async def token():
        return TIToken(id=instance, claims=TIClaims(scope="execution"))

    api.app.dependency_overrides[_jwt_bearer] = token


def main() -> None:
    import structlog
    from airflow.api_fastapi.execution_api.app import InProcessExecutionAPI
    from airflow.dag_processing.processor import DagFileProcessorProcess, ToManager
    from airflow.sdk.api.client import Client, ServerResponseError
    from airflow.sdk.execution_time.comms import ToSupervisor
    from airflow.sdk.execution_time.supervisor import ActivitySubprocess
    from pydantic import TypeAdapter

    instance = uuid.UUID(sys.argv[1]) if sys.argv[1:] else None
    api = InProcessExecutionAPI()
    if instance:
        let_in(api, instance)
    client = Client(base_url=None, token="", dry_run=True, transport=api.transport)
    client.base_url = "http://in-process.invalid./"
    decoder = TypeAdapter(ToSupervisor if instance else ToManager)
    asked = ActivitySubprocess if instance else DagFileProcessorProcess
    log = structlog.get_logger()
    answers = []

    def send_msg(msg, request_id, error=None, **options):
        answers.append(
            {
                "body": msg.model_dump(**options) if msg else None,
                "error": error.model_dump() if error else None,
            }
        )

    process = types.SimpleNamespace(client=client, id=instance or uuid.uuid4(), send_msg=send_msg)
    for message in json.load(sys.stdin):
        try:
            request = decoder.validate_python(message)
        except ValueError:
            # Airflow leaves what it cannot read without an answer.
            answers.append(None)
            continue
        try:
            asked._handle_request(process, request, log, 0)
        except ServerResponseError as error:
            detail = {"status_code": error.response.status_code, "detail": error.response.json()}
            answers.append({"body": None, "error": {"error": "API_SERVER_ERROR", "detail": detail}})
        except Exception as error:
            detail = {"status_code": None, "message": str(error)}
            answers.append({"body": None, "error": {"error": "API_SERVER_ERROR", "detail": detail}})
    print(json.dumps(answers, default=plain))


main()
