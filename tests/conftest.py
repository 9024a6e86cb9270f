"""Shared by all tests: where things are, and how hypothesis looks for counter-examples."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(Path(__file__).parent))  # helpers of several tests lie here
os.environ.setdefault("COLUMNS", "100")
# The same examples every time, and no clock: the machine is shared and the first call compiles.
hypothesis.settings.register_profile("kinfolk", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("kinfolk")

# Without torch, which is an extra and not to be had for every Python, tests that need it are skipped.
WITHOUT_TORCH = find_spec("torch") is None and not os.environ.get("KINFOLK_NEED_TORCH")
REASON = "needs torch: pip install 'kinfolk[train]'"


def needs_torch(error: BaseException | None) -> bool:
    """Whether it was raised because torch is not installed."""
    if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == "torch":
        return WITHOUT_TORCH
    return error is not None and needs_torch(error.__cause__)


class SkipsWithoutTorch:
    """A plugin: hooks of a conftest would not see the doctests in src."""

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector):
        """Skip a module, of tests or with doctests, that cannot be imported without torch."""
        report = yield
        if report.failed and needs_torch(report.call.excinfo.value):
            report.outcome, report.longrepr = (
                "skipped",
                (str(collector.path), 0, f"Skipped: {REASON}"),
            )
            for name, module in list(sys.modules.items()):  # pytest leaves it there half imported
                if getattr(module, "__file__", None) == str(collector.path):
                    del sys.modules[name]
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        """Skip a test that has met what needs torch in this process."""
        report = yield
        if call.excinfo is not None and needs_torch(call.excinfo.value):
            path, line, _ = item.location
            report.outcome, report.longrepr = "skipped", (path, line or 0, f"Skipped: {REASON}")
        return report

    def pytest_runtest_setup(self, item):
        """Skip a test marked `train`: it meets what needs torch in another process."""
        if WITHOUT_TORCH and item.get_closest_marker("train"):
            pytest.skip(REASON)


# Tests that wait for processes, browsers or clusters can be late on a busy machine. They get a second try,
# which the summary names and counts ("1 rerun"); every other test has one.
WAITING = ("tests/isolation/", "tests/viewer/", "tests/engines/", "tests/cli/test_signals.py")


def pytest_configure(config):
    config.pluginmanager.register(SkipsWithoutTorch())


def pytest_collection_modifyitems(items):
    for item in items:
        if item.nodeid.startswith(WAITING):
            item.add_marker(pytest.mark.flaky(reruns=1, reruns_delay=2))


@pytest.fixture
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def two_nodes():
    """A Ray cluster of two nodes on this machine, and this process connected to it.

    One for the whole session, because starting one takes most of a minute on a busy machine. Tests
    that use it belong to the group "ray". Its processes are ended by their ids.
    """
    import ray
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    quick = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500,
             "health_check_failure_threshold": 2}  # fmt: skip
    small = {"num_cpus": 1, "object_store_memory": 2**27}
    cluster = Cluster(
        initialize_head=True,
        head_node_args={**small, "include_dashboard": False, "_system_config": quick},
    )
    cluster.add_node(**small)
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture
def golden() -> Path:
    """Recordings of the published savanna, which lie beside the project and not in it."""
    folder = Path(os.environ.get("KINFOLK_GOLDEN", ROOT.parent / "shared" / "golden")) / "savanna"
    if not folder.is_dir():
        pytest.skip(f"There are no golden recordings in {folder}.")
    return folder


@pytest.fixture
def registered_losses():
    """The table of losses; what a test registers is taken back."""
    from kinfolk.training.losses import LOSSES

    before = dict(LOSSES)
    yield LOSSES
    LOSSES.clear()
    LOSSES.update(before)


@pytest.fixture
def own_module(tmp_path, monkeypatch, request):
    """How to write a module of a user's own into the working folder; returns its name.

    The name is different for each test, because modules are imported once.
    """

    def write(source: str) -> str:
        name = f"mine_{abs(hash(request.node.nodeid))}"
        (tmp_path / f"{name}.py").write_text(source)
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.chdir(tmp_path)
        return name

    return write


@pytest.fixture(scope="session")
def as_ordinary_user():
    """How to run a command as an ordinary user: returns the whole command.

    Skips where that cannot be had, unless KINFOLK_NEED_SANDBOX is set.
    """
    from ordinary_user import explain_no_ordinary_user, ordinary_user_command

    reason = explain_no_ordinary_user()
    if reason and not os.environ.get("KINFOLK_NEED_SANDBOX"):
        pytest.skip(f"Nothing can be run as an ordinary user: {reason}.")
    return ordinary_user_command
