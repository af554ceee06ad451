"""What happens to the folder of hard cases, phase by phase, and the folders that are processed once only."""

import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field

from world import HERE, World


@dataclass(frozen=True)
class Scenario:
    """Folders of this directory that are bundles, settings, and what happens before each pass."""

    bundles: dict[str, str]
    phases: dict[str, Callable[[World], None]]
    settings: dict[str, str] = field(default_factory=dict)


def nothing(world: World) -> None:
    pass


def lay_out(world: World) -> None:
    """What cannot lie in a repository, and what DAG files ask the database for."""
    main = world.bundle("main")
    for name in ("archive.zip", "archive_without_suffix"):
        with zipfile.ZipFile(main / name, "w") as archive:
            for member in sorted((HERE / "archive").iterdir()):
                # A member that cannot be imported spoils what stands before it, not what stands after it.
                archive.write(member, member.name)
    (main / "linked.py").symlink_to(world.root / "outside" / "linked.py")
    (main / "linked_folder").symlink_to(world.root / "outside" / "linked_folder")
    world.add_variable("number_of_tasks", "3")
    world.add_variable("settings", '{"key": "ünïcode value"}')
    world.add_connection("a_database", "postgres://user:password@db.example.org:5432/name")


def edit(world: World) -> None:
    """All edits that have nothing to do with each other. Somebody pauses and unpauses DAGs meanwhile: parsing
    leaves that alone, but watchers depend on it.
    """
    world.set_paused("watching_unpaused_later", paused=False)
    world.set_paused("watching_paused_later", paused=True)
    world.set_paused("paused_upon_creation_true", paused=False)
    world.set_paused("paused_upon_creation_false", paused=True)
    for dag_id in ("versioned_new", "versioned_same", "versioned_deadline"):
        world.add_run(dag_id)
    world.wait_until_stale()
    world.cut("several_dags.py", "# removed in a later phase", "# up to here")
    world.delete("nested/deleted_later.py")
    world.replace("schedules.py", "10 4 * * *", "20 5 * * *")
    world.replace("owners_and_tags.py", '"goes_away"', '"comes"')
    world.replace("owners_and_tags.py", "https://example.org/a", "https://example.org/other")
    world.replace("broken_later.py", "schedule=None", "schedule=undefined_name")
    world.replace("broken_at_first.py", "undefined_name", "None")
    world.replace("dynamic_yaml/dags.yaml", "@monthly", "@weekly")
    world.replace("comment_only.py", "with DAG", "# Nothing but a comment.\nwith DAG")
    world.replace("versioned.py", '"echo first"', '"echo second"')
    world.replace("versioned.py", 'name="one"', 'name="another"')
    world.replace("deadlines.py", "minutes=5", "minutes=6")
    world.replace("assets_dropped.py", "schedule=condition", "schedule=None")
    world.replace("assets_dropped.py", ', inlets=[Asset("dropped_in")], outlets=[Asset("dropped_out")]', "")
    world.replace("assets.py", 'group="lake"', 'group="pond"')
    world.replace("assets.py", "schedule=[plain, with_uri]", "schedule=[plain]")
    world.replace("watchers.py", "poke_interval=7.5", "poke_interval=8.5")
    world.replace("ünïcode_文件.py", "日本語", "ニホンゴ")


def restore(world: World) -> None:
    """Every file is as it was."""
    for path in sorted((HERE / "folder").rglob("*")):
        if path.is_file():
            world.restore(path.relative_to(HERE / "folder"))


SCENARIOS = {
    "folder": Scenario(
        bundles={"main": "folder", "second": "second"},
        phases={
            "initial": lay_out,
            "unchanged": nothing,
            "edited": edit,
            "restored": restore,
        },
    ),
    "regexp": Scenario(
        bundles={"main": "regexp"},
        phases={"initial": nothing},
        settings={"AIRFLOW__CORE__DAG_IGNORE_FILE_SYNTAX": "regexp"},
    ),
    "examples": Scenario(
        bundles={"main": "second"},
        phases={"initial": nothing, "unchanged": nothing},
        settings={"AIRFLOW__CORE__LOAD_EXAMPLES": "True"},
    ),
}
