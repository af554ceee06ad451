"""Timetables that are Python: asked as the official scheduler and DAG processor ask them."""

from __future__ import annotations

import datetime
import json
from functools import cache, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from airflow import plugins_manager
from airflow._shared.timezones.timezone import coerce_datetime
from airflow.serialization.decoders import decode_timetable
from airflow.serialization.encoders import encode_asset_like
from airflow.timetables.base import DagRunInfo, DataInterval, TimeRestriction
from airflow.timetables.simple import AssetTriggeredTimetable
from airflow.utils.types import DagRunType

from ferroflow_bridge.helper import method

if TYPE_CHECKING:
    from collections.abc import Iterator

    from airflow.timetables.base import Timetable


@method("timetable.describe")
def describe(timetable: str) -> dict[str, Any]:
    decoded = decoded_timetable(timetable)
    assets = decoded.asset_condition
    return {
        "type_name": decoded.type_name,
        "summary": decoded.summary,
        "description": decoded.description,
        "periodic": decoded.periodic,
        "can_be_scheduled": decoded.can_be_scheduled,
        "partitioned": decoded.partitioned,
        "run_ordering": list(decoded.run_ordering),
        "active_runs_limit": decoded.active_runs_limit,
        "asset_condition": encode_asset_like(assets) if assets else None,
        "asset_triggered": isinstance(decoded, AssetTriggeredTimetable),
        "partition_mapper_info": decoded.partition_mapper_info,
    }


@method("timetable.next")
def next_run(timetable: str, last: dict | None, restriction: dict) -> dict[str, Any] | None:
    info = decoded_timetable(timetable).next_dagrun_info_v2(
        last_dagrun_info=last and _run_info(last),
        restriction=TimeRestriction(
            earliest=decode_time(restriction["earliest"]),
            latest=decode_time(restriction["latest"]),
            catchup=restriction["catchup"],
        ),
    )
    return info and _encode_run_info(info, "next_dagrun_info")


@method("timetable.manual")
def manual_interval(timetable: str, run_after: str) -> list[str]:
    interval = decoded_timetable(timetable).infer_manual_data_interval(run_after=decode_time(run_after))
    return _encode_interval(interval, "infer_manual_data_interval")


@method("timetable.run_id")
def run_id(timetable: str, run_type: str, run_after: str, interval: list | None, extra: dict) -> str:
    made = decoded_timetable(timetable).generate_run_id(
        run_type=DagRunType(run_type),
        run_after=decode_time(run_after),
        data_interval=interval and _interval(interval),
        **extra,
    )
    if not isinstance(made, str):
        raise TypeError(f"generate_run_id returned {made!r}, which is not a text")
    return made


@method("timetable.between")
def runs_between(timetable: str, earliest: str, latest: str, most: int) -> dict[str, Any]:
    """The runs of a backfill; `truncated` if there are more than `most` of them."""
    runs = _iterate(decoded_timetable(timetable), decode_time(earliest), decode_time(latest))
    infos = [_encode_run_info(info, "the timetable") for info in islice(runs, most + 1)]
    return {"runs": infos[:most], "truncated": len(infos) > most}


@method("timetable.partition_date")
def partition_date(timetable: str, key: str) -> str | None:
    date = decoded_timetable(timetable).resolve_partition_date(key)
    return None if date is None else encode_time(date, "resolve_partition_date")


@method("timetable.localize")
def localize(timetable: str, bound: str) -> str:
    localized = decoded_timetable(timetable).localize_partition_datetime(decode_time(bound))
    return encode_time(localized, "localize_partition_datetime")


@lru_cache(maxsize=2000)
def decoded_timetable(timetable: str) -> Timetable:
    load_plugins()
    return decode_timetable(json.loads(timetable))


@cache
def load_plugins() -> None:
    plugins_manager.ensure_plugins_loaded()


def _iterate(timetable: Timetable, earliest: Any, latest: Any) -> Iterator[DagRunInfo]:
    if timetable.partitioned:
        yield from timetable.iter_partition_dagrun_infos(earliest=earliest, latest=latest)
        return
    restriction = TimeRestriction(earliest, latest, catchup=True)
    info = None
    while info := timetable.next_dagrun_info_v2(last_dagrun_info=info, restriction=restriction):
        yield info


def _run_info(info: dict[str, Any]) -> DagRunInfo:
    return DagRunInfo(
        run_after=decode_time(info["run_after"]),
        data_interval=info["data_interval"] and _interval(info["data_interval"]),
        partition_date=decode_time(info["partition_date"]),
        partition_key=info["partition_key"],
    )


def _interval(interval: list[str]) -> DataInterval:
    start, end = interval
    return DataInterval(start=decode_time(start), end=decode_time(end))


def decode_time(text: str | None) -> Any:
    return coerce_datetime(text and datetime.datetime.fromisoformat(text))


def _encode_run_info(info: Any, source: str) -> dict[str, Any]:
    if not isinstance(info, DagRunInfo):
        raise TypeError(f"{source} returned {info!r}, which is neither a DagRunInfo nor None")
    interval, date = info.data_interval, info.partition_date
    return {
        "run_after": encode_time(info.run_after, f"run_after of {source}"),
        "data_interval": interval and _encode_interval(interval, f"data_interval of {source}"),
        "partition_date": date and encode_time(date, f"partition_date of {source}"),
        "partition_key": info.partition_key,
    }


def _encode_interval(interval: Any, source: str) -> list[str]:
    if not isinstance(interval, DataInterval):
        raise TypeError(f"{source} returned {interval!r}, which is not a DataInterval")
    return [encode_time(interval.start, source), encode_time(interval.end, source)]


def encode_time(time: Any, source: str) -> str:
    if not isinstance(time, datetime.datetime):
        raise TypeError(f"{source} is {time!r}, which is not a time")
    if time.utcoffset() is None:
        raise ValueError(f"{source} is {time.isoformat()}, which has no time zone")
    return time.astimezone(datetime.timezone.utc).isoformat()
