"""phylotrackpy and dendropy read the exports and agree with the metrics. Skipped if missing."""

import json
import subprocess
import sys
from importlib.util import find_spec

import pytest

from kinfolk.evaluation.rollout import evaluation_task
from kinfolk.evaluation.trajectory import trace_episode
from kinfolk.lineage.family import depths, max_depth, to_csv, to_newick
from kinfolk.play.task import WorldRef
from kinfolk.policies.resolve import resolve


@pytest.fixture(scope="module")
def trace():
    ref = WorldRef("savanna", settings={"max_steps": 60})
    return trace_episode(evaluation_task(ref, {"all": resolve("kin://random")}, 1, range(1)), 0)


# In a separate process: importing phylotrackpy replaces the builtin `sum`.
TRACKED = """
import json, sys
from phylotrackpy import systematics
tracked = systematics.Systematics(lambda organism: organism, True, True, False, False)
tracked.load_from_file(sys.argv[1], "taxon_label", False, False)
def depth(taxon):
    parent = taxon.get_parent()
    return 0 if parent is None else 1 + depth(parent)
print(json.dumps({
    "taxa": tracked.get_num_taxa(),
    "roots": tracked.get_num_roots(),
    "deepest": tracked.get_max_depth(),
    "living": {taxon.get_id(): depth(taxon) for taxon in tracked.get_active_taxa()},
}))
"""


@pytest.mark.skipif(not find_spec("phylotrackpy"), reason="phylotrackpy is not installed")
def test_phylotrackpy_reads_the_csv_and_agrees_on_depths(trace, tmp_path):
    path = tmp_path / "family.csv"
    path.write_text(to_csv(trace.family))
    done = subprocess.run(
        [sys.executable, "-c", TRACKED, str(path)], capture_output=True, text=True, check=True
    )
    family, tracked = trace.family, json.loads(done.stdout)
    ours = depths(family)
    assert tracked["taxa"] == len(family)
    assert tracked["roots"] == len(family.founders())
    assert tracked["deepest"] == max_depth(family)
    assert tracked["living"] == {
        str(m.uid): ours[m.uid] for m in family if m.destruction_time is None
    }


def test_dendropy_reads_the_trees_and_agrees_on_branch_lengths(trace):
    dendropy = pytest.importorskip("dendropy", reason="dendropy is not installed")
    text = to_newick(trace.family, trace.report.ticks)
    trees = dendropy.TreeList.get(data=text, schema="newick", suppress_internal_node_taxa=True)
    assert len(trees) == len(trace.family.founders())
    # Every member is a leaf: by itself, or as the `_end` below its children.
    assert sum(len(tree.leaf_nodes()) for tree in trees) == len(trace.family)
    farthest = max(max(leaf.distance_from_root() for leaf in tree.leaf_nodes()) for tree in trees)
    ends = [
        trace.report.ticks if m.destruction_time is None else m.destruction_time
        for m in trace.family
    ]
    parents = {parent for member in trace.family for parent in member.parents}
    roots_alone = {m.uid for m in trace.family.founders()} - parents
    reach = [end for m, end in zip(trace.family, ends, strict=True) if m.uid not in roots_alone]
    assert farthest == max(reach)
