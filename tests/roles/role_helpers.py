"""A catalog without a world, and its evolution with scores that favor early mining."""

from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.coordinator import EvolutionaryRoleCoordinator
from kinfolk.roles.model import RoleDef, RoleTier

BEHAVIORS = {
    "explore": "common",
    "recharge": "common",
    "mine_resource": "miner",
    "deposit_resource": "miner",
    "find_extractor": "miner",
    "discover_stations": "scout",
    "discover_extractors": "scout",
    "discover_junctions": "scout",
    "get_hearts": "aligner",
    "get_influence": "aligner",
    "align_junction": "aligner",
    "scramble_junction": "scrambler",
    "find_enemy_junction": "scrambler",
}
SEEDED = {
    "BaseMiner": "deposit_resource / mine_resource / find_extractor / explore",
    "BaseScout": "discover_stations / discover_extractors / discover_junctions / explore",
    "BaseAligner": "get_hearts + get_influence / align_junction / explore",
    "BaseScrambler": "get_hearts / find_enemy_junction / scramble_junction / explore",
}


def idle(state):
    return False


def parse_role(catalog, text, **fields):
    """Parse a role: tiers between slashes, behaviors between pluses."""
    tiers = [RoleTier(catalog.behavior_ids(part.split(" + "))) for part in text.split(" / ")]
    return RoleDef(tuple(tiers), **fields)


def make_catalog():
    catalog = RoleCatalog()
    for name, source in BEHAVIORS.items():
        catalog.add_behavior(
            name=name, source=source, can_start=idle, act=idle, should_terminate=idle
        )
    for name, text in SEEDED.items():
        catalog.add_role(parse_role(catalog, text, name=name))
    return catalog


def mining_score(catalog, role):
    """1 for a role that begins with mining, less the later it comes, 0 without it."""
    mine = catalog.behavior_id("mine_resource")
    ids = role.behavior_ids
    return 1.0 - ids.index(mine) / 12 if mine in ids else 0.0


def play_game(coordinator, score_of=mining_score):
    """Play one game of all agents; return whether a new generation has begun."""
    for agent in range(coordinator.num_agents):
        role = coordinator.assign_role(agent)
        score = score_of(coordinator.catalog, role)
        coordinator.record_agent_performance(agent, score, score > 0.5)
    return coordinator.end_game(won=True)


def evolve(catalog, seed, generations, games=10, **settings):
    """Return a coordinator after a number of generations."""
    coordinator = EvolutionaryRoleCoordinator(8, games, seed, catalog=catalog, **settings)
    while coordinator.generation < generations:
        play_game(coordinator)
    return coordinator
