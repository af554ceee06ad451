"""Each try runs once: by what tasks wrote, and by how often its row became running."""

from collections import Counter, defaultdict

from together.facts import Facts, Key, Note


def check(facts: Facts) -> list[str]:
    became_running = Counter(
        (change.key, change.try_number)
        for change in facts.history
        if change.table == "task" and change.new == "running" and change.old != "running"
    )
    found = [
        f"{key}, try {number} became running {times} times"
        for (key, number), times in became_running.items()
        if times > 1
    ]
    for key, notes in _by_instance(facts.notes).items():
        found += _of_instance(key, notes)
        found += [
            f"{key}, try {number} has run, and its row was never running"
            for number in sorted({note.try_number for note in notes})
            if not became_running[key, number]
        ]
    return found


def _by_instance(notes: list[Note]) -> dict[Key, list[Note]]:
    by_instance: dict[Key, list[Note]] = defaultdict(list)
    for note in notes:
        if note.what in ("start", "end"):
            by_instance[note.key].append(note)
    return by_instance


def _of_instance(key: Key, notes: list[Note]) -> list[str]:
    found = []
    latest, process, ended = 0, None, set()
    for note in notes:
        number = note.try_number
        if note.what == "start":
            if number == latest:
                found.append(f"{key}, try {number} has started twice: processes {process} and {note.pid}")
            elif number < latest:
                found.append(f"{key}, try {number} has started after try {latest}")
            latest, process = max(latest, number), note.pid
            continue
        if number != latest:
            found.append(f"{key}, try {number} still ran while try {latest} did")
        elif note.pid != process:
            found.append(f"{key}, try {number} was started by process {process} and ended by {note.pid}")
        if number in ended:
            found.append(f"{key}, try {number} has ended twice")
        ended.add(number)
    return found
