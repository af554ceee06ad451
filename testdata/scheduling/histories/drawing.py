"""Draws blueprints at random."""

import random

from histories.blueprint import PREFIXES, RULES, Blueprint, Expand, Group, Node, Source

KINDS = {"node": 60, "empty": 12, "branch": 8, "short": 6, "sensor": 6, "trigger": 4}

NOTICED_BY = ("on_success_callback", "on_execute_callback", "inlets", "outlets")


class Drawer:
    """One drawing: what has been drawn so far, and how things are mixed in it."""

    def __init__(self, rng: random.Random, size: int):
        self.rng = rng
        self.left = size
        self.names = [f"{rng.choice(PREFIXES)}{number:03d}" for number in rng.sample(range(200), 190)]
        self.drawn: list[Node] = []
        self.fail_fast = rng.random() < 0.05
        self.chances = {
            "mapped": rng.choice([0, 0.15, 0.3]),
            "group": rng.choice([0, 0.1, 0.25]),
            "mapped_group": rng.choice([0.2, 0.6, 0.9]),
            "rule": rng.choice([0, 0.3, 0.6, 1]),
            "past": rng.choice([0, 0, 0, 0.2, 0.5]),
            "limit": rng.choice([0, 0, 0, 0.1]),
            "dates": rng.choice([0, 0, 0, 0.1]),
            "retries": rng.choice([0, 0.2, 0.5]),
            "kind": rng.choice([0.1, 0.4, 0.9]),
            "setup": rng.choice([0, 0, 0.15]),
            "wide": rng.choice([0, 0, 0.3]),
        }
        self.spread = rng.choice([2, 4, 10])

    def happens(self, chance: str) -> bool:
        return self.rng.random() < self.chances[chance]

    def name(self) -> str:
        return self.names.pop()

    def blueprint(self) -> Blueprint:
        rng = self.rng
        items = self.items(depth=0, width=1)
        timeout = rng.choice([40, 100, 400]) if rng.random() < 0.15 else None
        return Blueprint(items, rng.random() < 0.5, self.fail_fast, timeout)

    def items(self, depth: int, width: int, most: int = 99) -> list:
        items: list = []
        inside: list[Node] = []
        while self.left > 0 and len(items) < most:
            if depth < 3 and self.left > 2 and self.happens("group"):
                items.append(self.group(depth, width))
                continue
            node = self.node(inside, width)
            items.append(node)
            inside.append(node)
            if node.setup and self.left > 1:
                items += self.scope(node, inside, width)
        return items

    def group(self, depth: int, width: int) -> Group:
        rng = self.rng
        group = Group(f"g{self.name()}", prefix=rng.random() < 0.8)
        if self.happens("mapped_group"):
            group.expand = self.expand(width)
            group.uses_argument = rng.random() < 0.5
            width = max(2, width * group.expand.width())
        group.items = self.items(depth + 1, width, most=rng.randint(1, 5))
        return group

    def scope(self, setup: Node, inside: list[Node], width: int) -> list[Node]:
        """Some work after a setup, and the teardown of it."""
        rng = self.rng
        work = []
        for _ in range(rng.randint(0, 2)):
            if self.left > 1:
                node = self.node(inside, width)
                node.setup = False
                node.upstream = sorted({*node.upstream, rng.choice([setup, *work]).name})
                work.append(node)
        self.left -= 1
        teardown = Node(self.name(), teardown_of=[setup.name], fails_run=rng.random() < 0.4)
        teardown.upstream = sorted({node.name for node in work} - {setup.name})
        teardown.options = self.options(teardown)
        self.drawn.append(teardown)
        inside += work
        return [*work, teardown]

    def node(self, inside: list[Node], width: int) -> Node:
        rng = self.rng
        self.left -= 1
        node = Node(self.name())
        if self.happens("kind"):
            node.kind = rng.choices(list(KINDS), KINDS.values())[0]
        node.setup = node.kind == "node" and self.happens("setup")
        if self.happens("mapped") and width == 1:
            node.expand = self.expand(width)
        if not self.fail_fast and not node.setup and self.happens("rule"):
            node.rule = rng.choices(list(RULES), RULES.values())[0]
            # Airflow allows it neither in a mapped group nor on a task that is mapped over results.
            if node.rule == "always" and (width > 1 or node.expand):
                node.rule = "all_done"
        node.upstream = self.upstream(inside)
        node.respects_rules = rng.random() < 0.5
        node.reschedules = rng.random() < 0.7
        if node.kind == "empty" and rng.random() < 0.25:
            node.noticed_by = rng.choice(NOTICED_BY)
        node.options = self.options(node)
        self.drawn.append(node)
        return node

    def upstream(self, inside: list[Node]) -> list[str]:
        """Mostly recent ones, mostly from the same group."""
        rng = self.rng
        found = set()
        for _ in range(rng.choice([0, 1, 1, 1, 2, 2, 3, 6])):
            pool = inside if inside and rng.random() < 0.7 else self.drawn
            if pool:
                found.add(rng.choice(pool[-self.spread :]).name)
        return sorted(found)

    def expand(self, width: int) -> Expand:
        """Something that can be mapped over, narrow enough for where it is."""
        rng = self.rng
        room = max(1, 40 // width)
        number = rng.choice([1, 1, 1, 2, 3]) if room > 9 else 1
        kwargs = number == 1 and rng.random() < 0.3
        return Expand(kwargs, [self.source(room, number) for _ in range(number)])

    def source(self, room: int, number: int) -> Source:
        rng = self.rng
        candidates = [node.name for node in self.drawn if node.kind in ("node", "sensor", "trigger")]
        if not candidates or rng.random() < 0.4:
            most = 30 if number == 1 and self.happens("wide") else 4
            length = 0 if rng.random() < 0.08 else rng.randint(1, max(1, min(most, room)))
            return Source("literal", length)
        form = rng.choice(["ref", "ref", "ref", "map", "zip", "zipf", "concat"])
        count = 2 if form in ("zip", "zipf", "concat") else 1
        return Source(form, 0, tuple(rng.choice(candidates[-8:]) for _ in range(count)))

    def options(self, node: Node) -> dict:
        rng = self.rng
        options: dict = {}
        if self.happens("past"):
            options["depends_on_past"] = True
            options["wait_for_downstream"] = rng.random() < 0.4
            options["ignore_first_depends_on_past"] = rng.random() < 0.5
        if self.happens("limit"):
            options[rng.choice(["max_active_tis_per_dag", "max_active_tis_per_dagrun"])] = rng.randint(1, 3)
        if self.happens("dates"):
            options[rng.choice(["start_day", "start_day", "end_day"])] = rng.randint(-1, 4)
        if self.happens("retries"):
            options["retries"] = rng.randint(1, 3)
        options["retry_delay"] = rng.choice([0, 0, 10, 60, 300])
        return options


def draw(rng: random.Random) -> Blueprint:
    if rng.random() < 0.2:
        drawer = Drawer(rng, rng.randint(2, 8))
        # Nothing waits for anything outside of its run.
        drawer.chances |= {"past": 0, "limit": 0, "dates": 0, "retries": 0, "kind": 0.1, "setup": 0}
        blueprint = drawer.blueprint()
        blueprint.holds = True
        return blueprint
    size = rng.choices([rng.randint(2, 6), rng.randint(6, 14), rng.randint(14, 60)], [60, 34, 6])[0]
    return Drawer(rng, size).blueprint()


def draw_chain(rng: random.Random) -> Blueprint:
    """A few tasks in a row, of which the last is held: it is settled, while it runs, by what becomes of those
    before it, and that ends the run."""
    names = [f"{rng.choice(PREFIXES)}{number:03d}" for number in rng.sample(range(200), rng.randint(2, 4))]
    nodes = [
        Node(name, upstream=names[place - 1 : place] if place else [], options={"retry_delay": 0})
        for place, name in enumerate(names)
    ]
    return Blueprint(list(nodes), rng.random() < 0.5, holds=True, held=names[-1])


def change(rng: random.Random, blueprint: Blueprint) -> None:
    """Change a blueprint as its author might: tasks go and come, and are mapped otherwise."""
    for _ in range(rng.randint(1, 4)):
        nodes = [node for node in blueprint.nodes() if not node.setup and not node.teardown_of]
        if not nodes:
            return
        node = rng.choice(nodes)
        kind = rng.choice(
            ["literal", "literal", "unmap", "map", "remove", "add", "edge", "kind", "rule", "remap"]
        )
        placed = {id(node): around for node, around in blueprint.placed()}
        if kind == "literal":
            _change_lengths(rng, blueprint)
        elif kind == "unmap":
            node.expand = None
        elif kind == "map" and node.kind in ("node", "sensor") and not placed[id(node)]:
            node.expand = Expand(False, [Source("literal", rng.randint(1, 4))])
        elif kind == "remove" and node.name not in blueprint.mapped_over():
            _remove(blueprint, node)
        elif kind == "add":
            name = f"n{rng.randint(0, 999):03d}"
            if name not in {node.name for node in nodes}:
                blueprint.items.append(Node(name, upstream=[node.name], options={"retry_delay": 0}))
        elif kind == "edge":
            node.upstream = node.upstream[1:]
        elif kind == "kind" and not node.expand:
            node.kind = rng.choice(["node", "empty", "sensor", "trigger", "branch"])
            node.noticed_by = None
        elif kind == "remap" and node.expand and not placed[id(node)]:
            names = [other.name for other in blueprint.nodes()]
            earlier = [other for other in nodes if names.index(other.name) < names.index(node.name)]
            if earlier:
                node.expand = Expand(False, [Source("ref", 0, (rng.choice(earlier).name,))])
        elif kind == "rule" and not placed[id(node)] and not node.expand:
            node.rule = rng.choices(list(RULES), RULES.values())[0]


def _change_lengths(rng: random.Random, blueprint: Blueprint) -> None:
    for thing in [*blueprint.nodes(), *blueprint.groups()]:
        for source in thing.expand.sources if thing.expand else []:
            if source.form == "literal" and rng.random() < 0.5:
                source.length = rng.randint(0, 5)


def _remove(blueprint: Blueprint, gone: Node) -> None:
    def walk(items):
        items[:] = [item for item in items if item is not gone]
        for item in items:
            if isinstance(item, Group):
                walk(item.items)

    walk(blueprint.items)
    for node in blueprint.nodes():
        node.upstream = [name for name in node.upstream if name != gone.name]
        node.teardown_of = [name for name in node.teardown_of or [] if name != gone.name] or None
