"""Partition mappers, a window and asset timetables of somebody's own."""

import os
import time
from datetime import datetime, timedelta, timezone
from typing import ClassVar

from airflow.partition_mappers.base import PartitionMapper, RollupMapper
from airflow.partition_mappers.identity import IdentityMapper
from airflow.partition_mappers.wait_policy import MinimumCount
from airflow.partition_mappers.window import Window
from airflow.plugins_manager import AirflowPlugin
from airflow.serialization.definitions.assets import SerializedAsset, SerializedAssetAny
from airflow.timetables.base import Timetable
from airflow.timetables.simple import AssetTriggeredTimetable, PartitionedAssetTimetable


class Regions(PartitionMapper):
    """`eu/2024-01-02` is for the day and for the region; the date of the run moves on by so many days."""

    def __init__(self, days=1, **kwargs):
        super().__init__(**kwargs)
        self.days = days

    def to_downstream(self, key):
        region, day = key.split("/")
        return (part for part in (day, region.upper()))

    def to_partition_date(self, downstream_key):
        if downstream_key.isalpha():
            return None
        return datetime.fromisoformat(downstream_key).replace(tzinfo=timezone(timedelta(hours=2)))

    def carry_partition_date(self, source_partition_date):
        return source_partition_date and source_partition_date + timedelta(days=self.days)

    def serialize(self):
        return {**super().serialize(), "days": self.days}

    @classmethod
    def deserialize(cls, data):
        return cls(days=data["days"], max_downstream_keys=data.get("max_downstream_keys"))


class Days(PartitionMapper):
    """The day of a key that has a region before it."""

    def to_downstream(self, key):
        return key.split("/")[1]

    def decode_downstream(self, downstream_key):
        return [downstream_key]

    def encode_upstream(self, decoded):
        return "/".join(decoded)


class EveryRegion(Window):
    """A day of every region."""

    def __init__(self, regions=("eu", "us")):
        super().__init__()
        self.regions = list(regions)

    def to_upstream(self, decoded):
        return [[region, *decoded] for region in self.regions]

    def serialize(self):
        return {"regions": self.regions}

    @classmethod
    def deserialize(cls, data):
        return cls(data["regions"])


class MostRegions(RollupMapper):
    """A rollup of somebody's own: any two regions of three will do."""

    def __init__(self, **_):
        window = EveryRegion(["eu", "us", "asia"])
        super().__init__(upstream_mapper=Days(), window=window, wait_policy=MinimumCount(2))

    def serialize(self):
        return {}

    @classmethod
    def deserialize(cls, data):
        return cls()


class OnOrders(PartitionedAssetTimetable):
    """Waits for the partitions of one asset, and maps them as it likes."""

    def __init__(self, asset="orders"):
        super().__init__(assets=SerializedAsset(asset, asset, "asset", {}, []))
        self.asset = asset

    @property
    def summary(self):
        return f"On {self.asset}"

    def get_partition_mapper(self, *, name="", uri=""):
        return Days() if name == self.asset else IdentityMapper()

    def serialize(self):
        return {"asset": self.asset}

    @classmethod
    def deserialize(cls, data):
        return cls(data["asset"])


class OnAny(AssetTriggeredTimetable):
    """Waits for one of two assets, by a condition of its own."""

    description = "when something has come"

    def __init__(self, names=("plain", "other")):
        assets = [SerializedAsset(name, name, "asset", {}, []) for name in names]
        super().__init__(assets=SerializedAssetAny(assets))
        self.names = list(names)

    @property
    def summary(self):
        return "On any"

    def serialize(self):
        return {"names": self.names}

    @classmethod
    def deserialize(cls, data):
        return cls(data["names"])


class Loner(Timetable):
    """Waits for an asset and is no timetable that assets trigger."""

    def __init__(self):
        self.asset_condition = SerializedAsset("plain", "plain", "asset", {}, [])

    @property
    def summary(self):
        return "alone"

    def infer_manual_data_interval(self, *, run_after):
        raise NotImplementedError

    def next_dagrun_info(self, *, last_automated_data_interval, restriction):
        return None


class Bad(RollupMapper):
    """Does what its name says, when its method is called."""

    def __init__(self, method="to_downstream", deed="raises"):
        super().__init__(upstream_mapper=IdentityMapper(), window=Letters())
        self.method, self.deed = method, deed

    def to_downstream(self, key):
        return self._do("to_downstream") or key

    def to_upstream(self, downstream_key):
        return self._do("to_upstream") or super().to_upstream(downstream_key)

    def _do(self, method):
        if method != self.method:
            return None
        match self.deed:
            case "raises":
                raise RuntimeError("the mapper is broken")
            case "hangs":
                time.sleep(3600)
            case "exits":
                os._exit(3)
            case "odd":
                return [1, 2]
            case "endless":
                return map(str, iter(int, 1))
            case "long":
                return "k" * 251
        return None

    def serialize(self):
        return {"method": self.method, "deed": self.deed}

    @classmethod
    def deserialize(cls, data):
        return cls(**data)


class Letters(Window):
    """What one letter is made of: itself."""

    def to_upstream(self, decoded):
        return [decoded]


class PartitionsPlugin(AirflowPlugin):
    name = "partitions"
    partition_mappers: ClassVar = [Regions, Days, MostRegions, Bad]
    windows: ClassVar = [EveryRegion, Letters]
    timetables: ClassVar = [OnOrders, OnAny, Loner]
