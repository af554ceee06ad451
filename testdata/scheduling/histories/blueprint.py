"""What a DAG is to look like, as plain data: it can be built, changed, and built again."""

from dataclasses import dataclass, field

# The trigger rules, and how often each is drawn.
RULES = {
    "all_success": 60,
    "all_failed": 3,
    "all_done": 5,
    "all_done_min_one_success": 3,
    "all_done_setup_success": 3,
    "one_success": 4,
    "one_failed": 3,
    "one_done": 3,
    "none_failed": 5,
    "none_failed_min_one_success": 4,
    "none_skipped": 3,
    "all_skipped": 2,
    "always": 2,
}
# Bytes sort these otherwise than letters do.
PREFIXES = ("t", "t", "t", "T", "t_", "t-", "z", "a")


@dataclass
class Source:
    """What something is mapped over: `literal`, `ref`, `map`, `zip`, `zipf` or `concat`."""

    form: str
    length: int = 0
    names: tuple[str, ...] = ()


@dataclass
class Expand:
    """`args` by name, or one list of arguments (`kwargs`)."""

    kwargs: bool
    sources: list[Source]

    def references(self) -> set[str]:
        return {name for source in self.sources for name in source.names}

    def width(self) -> int:
        """How many there will be at most, where that is written down."""
        total = 1
        for source in self.sources:
            total *= max(source.length, 1) if source.form == "literal" else 3
        return total


@dataclass
class Group:
    name: str
    expand: Expand | None = None
    prefix: bool = True
    uses_argument: bool = False
    items: list = field(default_factory=list)


@dataclass
class Node:
    """A task. What it waits for are names of earlier ones."""

    name: str
    kind: str = "node"
    upstream: list[str] = field(default_factory=list)
    rule: str = "all_success"
    expand: Expand | None = None
    setup: bool = False
    teardown_of: list[str] | None = None
    fails_run: bool = False
    respects_rules: bool = False
    reschedules: bool = False
    # What makes a task that does nothing run all the same.
    noticed_by: str | None = None
    options: dict = field(default_factory=dict)


@dataclass
class Blueprint:
    items: list
    catchup: bool = False
    fail_fast: bool = False
    timeout: int | None = None
    # Some tasks are to be held while what comes before them is cleared and fails.
    holds: bool = False
    # Which one, if it is to be a certain one.
    held: str | None = None

    def nodes(self) -> list[Node]:
        return [node for node, _ in self.placed()]

    def placed(self) -> list[tuple[Node, tuple[Group, ...]]]:
        """Every task with the groups around it, from the outermost."""
        found = []

        def walk(items, around):
            for item in items:
                if isinstance(item, Group):
                    walk(item.items, (*around, item))
                else:
                    found.append((item, around))

        walk(self.items, ())
        return found

    def groups(self) -> list[Group]:
        found = []

        def walk(items):
            for item in items:
                if isinstance(item, Group):
                    found.append(item)
                    walk(item.items)

        walk(self.items)
        return found

    def mapped_over(self) -> set[str]:
        """The names of tasks whose results something is mapped over."""
        inputs = [thing.expand for thing in [*self.nodes(), *self.groups()] if thing.expand]
        return set().union(*(expand.references() for expand in inputs)) if inputs else set()
