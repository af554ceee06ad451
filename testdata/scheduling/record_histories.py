"""Record what the installed Airflow's scheduler decides, to more-histories.jsonl.gz.

Random DAGs are stored as the DAG processor stores them, runs are created, and Airflow's scheduler examines
them (`_schedule_dag_run`) in turns with an executor that we play: workers, the triggerer, people who answer,
mark, clear, pause and change DAGs. Nothing is random that a seed does not repeat; a history depends only on
the seed and its number.

    <venv>/bin/python testdata/scheduling/record_histories.py                                    # write
    <venv>/bin/python testdata/scheduling/record_histories.py --seed 7 --count 500 --file FILE   # others

`cargo run -p ferroflow-testkit --bin replay scheduling FILE` replays a file. There is one history per line,
in the format of scheduling.jsonl.gz, where these are new:

- of a run: `start_date`, and `logical_date` may be null
- of a tick: `now`, the time of all that happens in it
- `clear` comes in any number of ticks; `changes` has the new states (`restarting` of what was running), and
  `start_date` when the run began, which is `now` if it had ended
- `serialized_dag`: the DAG that is stored before this examination
- `reconciled`: the runs that `verify_integrity` looked at, before they were examined; `decisions` include
  what it did
- `paused`: `update_state` alone, without what surrounds it in the scheduler, and nothing is scheduled
- `executor_changes` go from and to any state: instances stay `queued` or `running`, are `deferred` or
  `awaiting_input`, go back to `scheduled` or to none, and are marked by people
- `dues`: `[run, task, map index, time]` for what went to `up_for_retry` or `up_for_reschedule` there:
  `next_retry_datetime()`, and the newest date of a reschedule
- `executed` lists an instance when it begins and when it ends, which may be in different ticks
- a run that has taken longer than `dagrun_timeout` fails, and what is unfinished is skipped; one of a later
  time than `now` is left alone
- `final.end` may be `cut`: there were too many ticks
"""

import argparse
import gzip
import json
import random
import sys
import time
from collections import Counter
from pathlib import Path

from histories import features, oracle

HERE = Path(__file__).resolve().parent
KEPT = HERE / "more-histories.jsonl.gz"
KEPT_SEED, KEPT_COUNT = 20261116, 200
# Besides, so many in which a task is settled that was on its way.
KEPT_CHAINS = 25
# Histories from this number on are of that kind.
CHAINS = 1_000_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=KEPT_SEED)
    parser.add_argument("--count", type=int, default=KEPT_COUNT)
    parser.add_argument("--first", type=int, default=0, help="the number of the first history")
    parser.add_argument("--file", type=Path, default=KEPT)
    arguments = parser.parse_args()
    air = oracle.prepare()
    began = time.monotonic()
    counts: Counter = Counter()
    lines = []
    numbers = [*range(arguments.first, arguments.first + arguments.count)]
    if arguments.file == KEPT:
        numbers += range(CHAINS, CHAINS + KEPT_CHAINS)
    for number in numbers:
        history = record(air, arguments.seed, number)
        counts.update(history["features"])
        lines.append(json.dumps(history, sort_keys=True, separators=(",", ":")))
    write(arguments.file, "".join(f"{line}\n" for line in lines).encode())
    speed = len(lines) / (time.monotonic() - began)
    print(f"recorded {len(lines)} histories, {speed:.1f} per second")
    if arguments.file != KEPT:
        print(", ".join(f"{tag} {count}" for tag, count in sorted(counts.items())))
    return 0


def record(air, seed: int, number: int) -> dict:
    """One history. It has a random source of its own, so that it is the same whatever else is recorded."""
    from histories.drawing import draw, draw_chain
    from histories.player import Player

    rng = random.Random(f"{seed} {number}")
    blueprint = draw_chain(rng) if number >= CHAINS else draw(rng)
    player = Player(air, rng, f"more-{seed}-{number:05d}", blueprint)
    try:
        history = player.play()
    finally:
        air.session.forget()
    return history | {"features": features.of(player, history)}


def write(path: Path, text: bytes) -> None:
    if path.suffix != ".gz":
        path.write_bytes(text)
    elif not path.exists() or gzip.decompress(path.read_bytes()) != text:
        # Another zlib may compress the same differently.
        path.write_bytes(gzip.compress(text, compresslevel=9, mtime=0))


if __name__ == "__main__":
    sys.exit(main())
