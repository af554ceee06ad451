"""Partitions with custom mappers, windows or timetables, asked as official components ask them."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from airflow.partition_mappers.base import is_rollup
from airflow.partition_mappers.wait_policy import MinimumCount, WaitForAll
from airflow.timetables.base import compute_rollup_fingerprint
from airflow.utils.helpers import is_container

from ferroflow_bridge.helper import method
from ferroflow_bridge.timetables import decode_time, decoded_timetable, encode_time

if TYPE_CHECKING:
    from collections.abc import Iterable

    from airflow.partition_mappers.wait_policy import WaitPolicy
    from airflow.timetables.base import Timetable

# A key that becomes more has been mapped by something that does not end.
MOST_KEYS = 100_000


@method("partition.map")
def mapped(timetable: str, name: str, uri: str, key: str, date: str | None) -> dict[str, Any]:
    """What a partition of an asset is to a DAG, at the moment when the asset has changed."""
    decoded = decoded_timetable(timetable)
    fingerprint = compute_rollup_fingerprint(decoded)
    mapper = decoded.get_partition_mapper(name=name, uri=uri)
    found = mapper.to_downstream(key)
    keys = list(islice(found, MOST_KEYS + 1)) if is_container(found) else [found]
    if len(keys) > MOST_KEYS:
        raise ValueError(f"to_downstream made more than {MOST_KEYS} keys of {key!r}")
    answer = {
        "fingerprint": fingerprint,
        "keys": _texts(keys, "to_downstream"),
        "max_downstream_keys": mapper.max_downstream_keys,
        "date": None,
        "date_problem": None,
    }
    try:
        carried = mapper.carry_partition_date(decode_time(date))
        answer["date"] = None if carried is None else encode_time(carried, "carry_partition_date")
    except Exception as error:
        # The partition counts without a date.
        answer["date_problem"] = _told(error)
    return answer


@method("partition.await")
def awaited(timetable: str, partitions: list[dict[str, Any]]) -> dict[str, Any]:
    """What partitions of a DAG wait for, and the dates that they stand for; what fails is one alone."""
    decoded = decoded_timetable(timetable)
    return {
        "fingerprint": compute_rollup_fingerprint(decoded),
        "partitions": [
            {
                "assets": [_expected(decoded, one["key"], *asset) for asset in one["assets"]],
                "date": _date(decoded, one["key"], one["assets"]),
            }
            for one in partitions
        ],
    }


def _expected(timetable: Timetable, key: str, name: str, uri: str) -> dict[str, Any] | str:
    try:
        mapper = timetable.get_partition_mapper(name=name, uri=uri)
        if not is_rollup(mapper):
            return "any"
        keys = _texts(mapper.to_upstream(key), "to_upstream")
        return {"window": {"keys": sorted(keys), "at_least": _at_least(mapper.wait_policy)}}
    except Exception as error:
        return {"problem": _told(error)}


def _at_least(policy: WaitPolicy) -> int | None:
    """How many keys have to come. None: all of them. Airflow serializes no other policies."""
    if type(policy) is MinimumCount:
        return policy.n
    if type(policy) is WaitForAll:
        return None
    raise TypeError(f"the wait policy {policy!r} is not one of Airflow's")


def _date(timetable: Timetable, key: str, assets: list[list[str]]) -> dict[str, Any]:
    """The moments that the mappers of these assets see in a key: at best one, or none."""
    try:
        mappers = (timetable.get_partition_mapper(name=name, uri=uri) for name, uri in assets)
        dates = {mapper.to_partition_date(key) for mapper in mappers} - {None}
        return {"moments": sorted(encode_time(date, "to_partition_date") for date in dates)}
    except Exception as error:
        return {"problem": _told(error)}


def _texts(keys: Iterable[Any], source: str) -> list[str]:
    texts = list(keys)
    for key in texts:
        if not isinstance(key, str):
            raise TypeError(f"{source} gave {key!r}, which is not a text")
    return texts


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
