"""Cron expressions of every form that croniter knows, and of some that it does not."""

import calendar

# First and last value of each column.
COLUMNS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6), (0, 59), (1970, 2099))
MINUTE, HOUR, MONTH_DAY, MONTH, WEEKDAY, SECOND, YEAR = range(7)
MONTHS = [name.lower() for name in calendar.month_abbr[1:]]
WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
PRESETS = ("@hourly", "@daily", "@weekly", "@monthly", "@quarterly", "@yearly")
ALIASES = ("@midnight", "@annually", "@HOURLY", "@Daily", "@wEEKLY", "@Monthly", "@YEARLY", "@Midnight")
FAMILIAR = (
    "* * * * *",
    "*/5 * * * *",
    "*/15 * * * *",
    "0 * * * *",
    "30 * * * *",
    "0 */2 * * *",
    "0 0 * * *",
    "30 1 * * *",
    "30 2 * * *",
    "0 0 * * 1-5",
    "0 0 1 * *",
    "0 0 1 1 *",
    "0 0 29 2 *",
    "0 0 31 2 *",
    "35 * 31 4 6",
    "0 0 l * *",
    "0 0 * * l5",
    "0 0-0 * * *",
    "*/7 * * * 1",
    "0 0 29 2 1#5",
    "0 0 1-7 * mon",
    "0 0 *,5 * 5",
)
BLANKS = (" ", " ", "  ", "\t", "\n", "\u00a0", "\x1c", "\u3000")


def expression(rng, wall=None) -> str:
    """A random one; near a wall time, if there is one, so that its clock changes matter."""
    kind = rng.random()
    if kind < 0.12:
        return rng.choice(FAMILIAR)
    if kind < 0.16:
        return rng.choice(PRESETS + ALIASES)
    count = rng.choice((5, 5, 5, 5, 5, 5, 6, 7))
    columns = [column(rng, index, count) for index in range(count)]
    if wall is not None and rng.random() < 0.6:
        around(rng, columns, wall)
    if count == 7 and wall is not None and rng.random() < 0.7:
        year = min(max(wall.year + rng.choice((-51, -50, -49, -1, 0, 1, 49, 50, 51)), 1970), 2099)
        step = rng.choice((1, 4, 49))
        columns[YEAR] = rng.choice((f"{year}", f"{year}-2099", f"1970-{year}", f"{year}/{step}"))
    blank = " " if rng.random() < 0.95 else rng.choice(BLANKS)
    text = blank.join(columns)
    return text if rng.random() < 0.97 else rng.choice(BLANKS) + text + rng.choice(BLANKS)


def around(rng, columns: list[str], wall) -> None:
    columns[MINUTE] = rng.choice((f"{wall.minute}", "0", "30", "*/10", columns[MINUTE]))
    hour, other = wall.hour, (wall.hour + rng.choice((-2, -1, 1, 2))) % 24
    columns[HOUR] = rng.choice((f"{hour}", f"{other}", f"{hour},{other}", "*", "*/2", f"{hour}-{other}"))
    if rng.random() < 0.7:
        columns[MONTH_DAY:WEEKDAY] = ["*", "*"]
    if rng.random() < 0.7:
        columns[WEEKDAY] = "*"


def column(rng, index: int, count: int) -> str:
    if rng.random() < (0.1, 0.35, 0.55, 0.65, 0.6, 0.2, 0.4)[index]:
        return "*"
    if rng.random() < 0.25:
        special = special_column(rng, index, count)
        if special:
            return special
    items = rng.choice((1, 1, 1, 1, 2, 2, 3, 4))
    return ",".join(item(rng, index, count) for _ in range(items))


def special_column(rng, index: int, count: int) -> str:
    """Forms that stand for a whole column."""
    first, last = COLUMNS[index]
    values = list(range(first, last + 1))
    if rng.random() < 0.15:
        rng.shuffle(values)
        missing = rng.choice((0, 0, 1))
        return ",".join(map(str, values[missing:]))
    if index == MONTH_DAY:
        day = rng.randrange(1, 32)
        nearest = (f"{day}w", f"W{day}", f"{day}W", "31w", "1w")
        return rng.choice(
            ("l", "L", "?", *nearest, f"{day}-l", "l,15", "0" if count == 6 else f"l,{day}-l/3")
        )
    if index == WEEKDAY:
        day, nth = rng.randrange(7), rng.randrange(1, 6)
        name, other = rng.choice(WEEKDAYS), rng.choice(WEEKDAYS)
        forms = (f"{day}#{nth}", f"{name}#{nth}", f"l{day}", f"L{day}", f"{name}-{other}#{nth}", "?", "*,5")
        two = (f"{day}#{nth},{name}#{rng.randrange(1, 6)}", f"l{day},{name}#1", f"{name}-{other}#1,l{day}")
        return rng.choice((*forms, *two, "7" if count == 5 else "0"))
    return ""


def item(rng, index: int, count: int) -> str:
    first, last = COLUMNS[index]
    one, other = value(rng, index, count), value(rng, index, count)
    step = rng.choice((1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30, 45, 100, last))
    forms = (one, one, one, f"{one}-{other}", f"{one}-{other}/{step}", f"*/{step}", f"{one}/{step}")
    odd = (f"{one}-{one}", f"{one}-{one}/{step}", f"{first}-{last}", f"{first}-{last}/{step}", "*")
    return rng.choice(forms if rng.random() < 0.85 else odd)


def value(rng, index: int, count: int) -> str:
    first, last = COLUMNS[index]
    if index in (MONTH, WEEKDAY) and rng.random() < 0.4:
        name = rng.choice(MONTHS if index == MONTH else WEEKDAYS)
        return rng.choice((name, name.upper(), name.title()))
    if index == WEEKDAY and count == 5 and rng.random() < 0.15:
        return "7"
    number = rng.randint(first, last) if index != YEAR else rng.randint(1995, 2045)
    return f"{number:02}" if rng.random() < 0.06 else str(number)


def mutated(rng, text: str) -> str:
    """The same with some characters put in, left out or changed."""
    alphabet = "0123456789**,,--//##llwW??@ LJmonjantuefrsd().+"
    characters = list(text)
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.randrange(len(characters) + 1)
        characters[at : at + rng.choice((0, 1))] = rng.choice((*rng.choices(alphabet, k=2), ""))
    return "".join(characters)


def is_drawn(text: str) -> bool:
    """Whether a column is drawn at random (`r`), anew at every look."""
    return any(part[0] in "hr" and part[1:2] in ("", "(", "/") for part in text.lower().split())
