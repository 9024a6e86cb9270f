import json

import numpy as np
import pytest

from kinfolk.core.errors import UnknownNameError
from kinfolk.core.spaces import ActionHead, AgentGroup, ObservationField, WorldSpec

GROUP = AgentGroup(
    "cog",
    (
        ObservationField("window", (3, 3), "uint8"),
        ObservationField("body", (2,), "float32"),
        ObservationField("id", (), "int64"),
    ),
    (ActionHead("move", ("stay", "go")),),
)


def test_labels_are_kept_and_do_not_make_a_layout_another():
    plain = ObservationField("body", (2,), "float32")
    labelled = ObservationField("body", (2,), "float32", ("energy", "age"))
    assert plain == labelled
    heads = (ActionHead("move", ("stay", "go")),)
    spec = WorldSpec("own", 4, (AgentGroup("all", (labelled,), heads),), 10)
    again = WorldSpec.from_dict(json.loads(json.dumps(spec.to_dict())))
    assert again.groups[0].fields[0].labels == ("energy", "age")


def test_fields_are_aligned_to_multiples_of_8_bytes():
    assert GROUP.offsets == {"window": 0, "body": 16, "id": 24}
    assert GROUP.row_bytes == 32


def test_reading_a_field_returns_a_view_of_the_observations():
    rows = np.zeros((4, 40), dtype=np.uint8)
    GROUP.read_field(rows, "body")[2] = [1.5, -2.0]
    assert rows[2, 16:24].view(np.float32).tolist() == [1.5, -2.0]
    assert GROUP.read_field(rows, "window").shape == (4, 3, 3)
    assert GROUP.read_field(rows, "id").shape == (4,)


def test_an_unknown_field_or_group_raises_an_error_that_lists_the_known_ones():
    with pytest.raises(UnknownNameError) as refused:
        GROUP.read_field(np.zeros((1, 32), dtype=np.uint8), "windw")
    assert str(refused.value) == (
        "Group cog has no field 'windw'. Did you mean 'window'? Known: window, body, id."
    )
    with pytest.raises(UnknownNameError) as refused:
        WorldSpec("w", 2, (GROUP,), 10).group_index("cgo")
    assert str(refused.value) == "World w has no group 'cgo'. Did you mean 'cog'? Known: cog."


def test_a_spec_can_be_restored_from_json():
    spec = WorldSpec("w", 2, (GROUP,), 10, (("price", 3),))
    plain = json.loads(json.dumps(spec.to_dict()))
    assert WorldSpec.from_dict(plain) == spec
    assert WorldSpec(**plain) == WorldSpec(**spec.to_dict()) == spec
    assert hash(WorldSpec(**plain)) == hash(spec)
    assert spec.row_bytes == 32
    assert spec.n_choices.tolist() == [[2]]
