"""Parses one DAG file, or runs callbacks that it defines, with Airflow's own functions."""

from __future__ import annotations

import json
import os
import resource
import socket
import sys
import traceback
from itertools import takewhile
from pathlib import Path

import structlog
from airflow.configuration import conf
from airflow.dag_processing import processor
from airflow.sdk.execution_time import comms, task_runner
from pydantic import TypeAdapter

from ferroflow_bridge import native_crash, titles

_REQUEST_DECODER = TypeAdapter(processor.ToDagProcessor)
_ERROR_DECODER = TypeAdapter(comms.ErrorResponse)


class Result:
    """What is sent back: each DAG as the JSON text that Python makes of it, with its numbers as they are."""

    def __init__(self, dags: list[str], import_errors: dict[str, str], warnings: list[dict]):
        self.dags = dags
        self.import_errors = import_errors
        self.warnings = warnings
        self.imports: list[str] = []

    def model_dump(self) -> dict:
        return {
            "type": "DagFileParsingResult",
            "dags": self.dags,
            "import_errors": {sendable(file): sendable(text) for file, text in self.import_errors.items()},
            "imports": self.imports,
            "warnings": [
                {key: sendable(str(value)) for key, value in item.items()} for item in self.warnings
            ],
        }


def main(channel: socket.socket) -> None:
    """Receives the request, does it, and sends the result; of callbacks there is none."""
    os.environ["_AIRFLOW_PROCESS_CONTEXT"] = "client"
    decoder = comms.CommsDecoder(socket=channel, body_decoder=_REQUEST_DECODER, err_decoder=_ERROR_DECODER)
    request = decoder._get_response()
    titles.set_title(f"ferroflow {'callbacks' if request.callback_requests else 'parse'} -- {request.file}")
    task_runner.SUPERVISOR_COMMS = decoder
    native_crash.end_at_once()
    result = parse_file(request)
    if result is not None:
        decoder.send(result)


def parse_file(request: processor.DagFileParseRequest) -> Result | None:
    log = structlog.get_logger(logger_name="task")
    last_module = next(reversed(sys.modules))
    try:
        found = processor._parse_file(request, log)
    except BaseException:
        if request.callback_requests:
            raise
        log.exception("Failed to parse", file=request.file)
        return Result([], {_relative(request): _traceback()}, [])
    if found is None:
        return None
    result = Result([], dict(found.import_errors or {}), list(found.warnings or []))
    for dag in found.serialized_dags:
        try:
            result.dags.append(json.dumps(dag.data, allow_nan=False))
        except (TypeError, ValueError) as error:
            reason = f"The serialized form of DAG {dag.dag_id!r} is not JSON: {error}"
            result.import_errors[_relative(request)] = reason
    _explain_lack_of_memory(result)
    result.imports = _imports(request, last_module)
    return result


def sendable(text: str) -> str:
    """The text with what UTF-8 has no form for written as an escape."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _traceback() -> str:
    return traceback.format_exc(limit=-conf.getint("core", "dagbag_import_error_traceback_depth"))


def _relative(request: processor.DagFileParseRequest) -> str:
    try:
        return os.fspath(Path(request.file).relative_to(request.bundle_path))
    except ValueError:
        return request.file


def _imports(request: processor.DagFileParseRequest, last_module: str) -> list[str]:
    """The files of the bundle that were imported, the DAG file itself left out.

    Modules are in the order in which they were imported. Those of the fork server are not looked at: each
    would become memory of this process.
    """
    root = f"{request.bundle_path}/"
    new = list(takewhile(lambda name: name != last_module, reversed(sys.modules)))
    files = (getattr(sys.modules[name], "__dict__", {}).get("__file__") for name in new)
    return [
        sendable(file.removeprefix(root))
        for file in files
        if isinstance(file, str) and file.startswith(root) and file != request.file
    ]


def _explain_lack_of_memory(result: Result) -> None:
    limit, _ = resource.getrlimit(resource.RLIMIT_DATA)
    if limit == resource.RLIM_INFINITY:
        return
    for file, text in result.import_errors.items():
        if text.rstrip().endswith("MemoryError"):
            note = f"The process that parses a file may use {limit // 2**20} MiB of memory."
            result.import_errors[file] = f"{text.rstrip()}\n{note}\n"
