import pytest
from pydantic import Field, field_validator

from kinfolk.core.errors import SettingsError
from kinfolk.core.settings import Settings, parse_overrides, validate_settings
from kinfolk.store.files import parse_settings


class Food(Settings):
    growth: float = Field(default=0.1, ge=0.0, le=1.0)


class Lake(Settings):
    size: int = Field(default=8, ge=1)
    name: str = "lake"
    deep: bool = False
    food: Food = Food()
    kind: str = "round"

    @field_validator("kind")
    @classmethod
    def _known_kind(cls, value: str) -> str:
        if value not in ("round", "long"):
            raise ValueError(f"Lake.kind must be 'round' or 'long', not '{value}'.")
        return value


INVALID_SETTINGS = [
    (
        {"sise": 3},
        "Lake has no setting 'sise'. Did you mean 'size'? Known: size, name, deep, food, kind.",
    ),
    ({"zzz": 3}, "Lake has no setting 'zzz'. Known: size, name, deep, food, kind."),
    (
        {"food": {"grwoth": 1}},
        "Lake.food has no setting 'grwoth'. Did you mean 'growth'? Known: growth.",
    ),
    ({"size": "big"}, "Lake.size must be a whole number, not 'big'."),
    ({"size": 1.5}, "Lake.size must be a whole number, not 1.5."),
    ({"size": 0}, "Lake.size must be at least 1, not 0."),
    ({"food": {"growth": 2}}, "Lake.food.growth must be at most 1.0, not 2."),
    ({"food": {"growth": "much"}}, "Lake.food.growth must be a number, not 'much'."),
    ({"food": 3}, "Lake.food must be a table, not 3."),
    ({"deep": "very"}, "Lake.deep must be true or false, not 'very'."),
    ({"name": 7}, "Lake.name must be a string, not 7."),
    ({"kind": "square"}, "Lake.kind must be 'round' or 'long', not 'square'."),
]


@pytest.mark.parametrize(("data", "message"), INVALID_SETTINGS, ids=lambda x: str(x)[:30])
def test_invalid_settings_raise_an_error_that_names_the_setting_and_its_value(data, message):
    with pytest.raises(SettingsError) as refused:
        validate_settings(Lake, data)
    assert str(refused.value) == message


def test_settings_are_frozen():
    with pytest.raises(ValueError, match="frozen"):
        Lake().size = 3


def test_overrides_toml_and_json_give_the_same_settings():
    by_flags = parse_overrides(["size=9", "food.growth=0.5", "name=north", "deep=true"])
    by_toml = parse_settings(
        'size = 9\nname = "north"\ndeep = true\n[food]\ngrowth = 0.5', "toml", "a.toml"
    )
    by_json = parse_settings(
        '{"size": 9, "name": "north", "deep": true, "food": {"growth": 0.5}}', "json", "a.json"
    )
    assert (
        validate_settings(Lake, by_flags)
        == validate_settings(Lake, by_toml)
        == validate_settings(Lake, by_json)
    )
    assert validate_settings(Lake, by_flags).food.growth == 0.5


@pytest.mark.parametrize(
    ("text", "file_format", "message"),
    [
        ("size = ", "toml", "a.toml is not valid TOML: Invalid value (at end of document)."),
        ("{", "json", "a.json is not valid JSON: Expecting property name enclosed in double quotes: "
         "line 1 column 2 (char 1)."),
        ("[1]", "json", "a.json must hold a table of settings, not [1]."),
    ],
)  # fmt: skip
def test_a_settings_file_that_cannot_be_parsed_raises_an_error(text, file_format, message):
    with pytest.raises(SettingsError) as refused:
        parse_settings(text, file_format, f"a.{file_format}")
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["size"], "A setting is given as key=value, not 'size'."),
        (["a=1", "a.b=2"], "'a.b=2' needs a table at a, which is a value already."),
    ],
)
def test_overrides_that_cannot_be_parsed_raise_an_error(overrides, message):
    with pytest.raises(SettingsError) as refused:
        parse_overrides(overrides)
    assert str(refused.value) == message
