"""Attacks before the match: code that runs when policies are resolved, imported and built.

Files in `files` are planted beside the policy. `{mark}` in them is replaced by the match's mark; a
file of that name which appears beside the policy shows that strangers' code ran outside the sandbox,
because inside that folder cannot be written.
"""

# ruff: noqa: RUF012, these tables are never changed

import os
from pathlib import Path

from hostile.base import Attack

_SHOW = """
import os, sys
try:
    open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "ran-{mark}-" + __name__), "w").close()
except OSError:
    pass
"""
# A module that shows that it was imported, and then gives way to the real one of its name.
_SHADOW = (
    _SHOW
    + """
import importlib
_here = os.path.dirname(os.path.abspath(__file__))
_paths = sys.path[:]
sys.path[:] = [path for path in _paths if os.path.abspath(path or ".") != _here]
_own = sys.modules.pop(__name__, None)
try:
    importlib.import_module(__name__)
except ImportError:
    sys.modules[__name__] = _own
sys.path[:] = _paths
"""
)
_PATCH = (
    _SHOW
    + """
import numpy as np
import kinfolk.policies.base as base
honest_noop = base.NoopPolicy.noop_actions
def noop_actions(self, group):
    return np.zeros((len(group), 2), np.int64)
base.NoopPolicy.noop_actions = noop_actions
try:
    import rival_policy
    rival_policy.Rival.act_async = base.NoopPolicy.act_async
except Exception:
    pass
"""
)
# The fork server preloads libraries that a policy's text imports; this package is not to import torch.
_NET = (
    _PATCH
    + """
from importlib import import_module
torch = import_module("torch")
class Net(torch.nn.Module):
    def __init__(self, shape, **settings):
        super().__init__()
        raise ValueError("warmed")
"""
)


class WarmupAttack(Attack):
    """Attacks before the match, by all agents of the slot."""

    whole_slot = True
    files = {}
    uri = ""  # instead of this class
    needs_torch = False


class ShadowsModules(WarmupAttack):
    """Lays modules beside the policy that bear the names of libraries and of start-up hooks."""

    names = ("json", "numpy", "safetensors", "socket", "ctypes", "struct", "typing", "sitecustomize",
             "usercustomize", "traceback", "signal", "pydantic", "resource")  # fmt: skip
    files = {f"{name}.py": _SHADOW for name in names}

    def step(self):
        pass


class ShadowsKinfolk(WarmupAttack):
    """Lays a package `kinfolk` beside the policy, whose modules would replace the real ones."""

    files = {
        "kinfolk/__init__.py": _SHOW,
        "kinfolk.py": _SHOW,
        "kinfolk/isolation/__init__.py": _SHOW,
    }

    def step(self):
        pass


class NamesForeignNet(WarmupAttack):
    """Names a net of its own in the settings of one of our policies, which is warmed outside."""

    files = {"hostile_net.py": _NET}
    uri = "kin://net?module=hostile_net.Net"
    needs_torch = True


class NamesForeignTransform(WarmupAttack):
    """Names an observation transform of its own in the settings of one of our policies."""

    files = {"hostile_transform.py": _PATCH + "class Transform:\n    pass\n"}
    uri = "kin://mlp?transform=hostile_transform.Transform"
    needs_torch = True


class NamesForeignNetInAFile(WarmupAttack):
    """Names a net of its own in a policy file whose class is ours."""

    policy = (
        "kinfolk.policies.neural.architectures:CustomNetPolicy",
        {"module": "hostile_net.Net"},
    )
    files = {"hostile_net.py": _NET}
    uri = "file:hostile.safetensors"
    needs_torch = True


class PatchesAtImport(WarmupAttack):
    """Patches the rival's class and ours when its module is imported, then plays."""

    files = {
        "hostile_patch.py": _PATCH
        + "class Patcher(base.NoopPolicy):\n    noop_actions = honest_noop\n"
    }
    uri = "class:hostile_patch.Patcher"


class HangsAtImport(WarmupAttack):
    """Hangs when its module is imported or looked up."""

    files = {"hostile_hang.py": "import time\ntime.sleep(60)\nclass Hanger:\n    pass\n"}
    uri = "class:hostile_hang.Hanger"
    limits = {"start_timeout": 3.0}
    without_sandbox = "the start has a timeout"


class HidesBehindAPackage(WarmupAttack):
    """Runs code when the package around its module is looked up, before any class is imported."""

    files = {
        "hostile_package/__init__.py": _PATCH,
        "hostile_package/inner.py": "class Policy:\n    pass\n",
    }
    uri = "class:hostile_package.inner.Policy"


class ReadsNamedModules(WarmupAttack):
    """Names the rival's module and links to the user's files in its settings, to be shown them."""

    uri = (
        "class:hostile.warmup.ReadsNamedModules?catalog=rival_policy.Rival&module=hostile_link.Net"
    )
    links = {
        "hostile_link.py": "secret",
        "hostile/linked.txt": "secret",
        "hostile/folder": "folder",
    }

    def __init__(self, spec, targets=None, catalog="", module=""):
        super().__init__(spec, targets)

    def attack(self):
        own = Path(__file__).parent
        self.attempt("rival", lambda: (own.parent / "rival_policy.py").read_text()[:60])
        for path in (
            own.parent / "hostile_link.py",
            own / "linked.txt",
            own / "folder" / "secret.txt",
        ):
            self.attempt(path.name, path.read_text)
        self.attempt("list", lambda: os.listdir(own / "folder"))


class ReadsModulesNamedInAFile(ReadsNamedModules):
    """Names them in the settings of its policy file, which it writes itself."""

    uri = "file:hostile.safetensors"
    policy = (
        "hostile.warmup.ReadsModulesNamedInAFile",
        {"catalog": "rival_policy.Rival", "module": "hostile_link.Net"},
    )


class IsALinkToASecret(WarmupAttack):
    """Is a link to a file of the user's, which an error of its import would show."""

    uri = "class:hostile_link.Policy"
    links = {"hostile_link.py": "secret"}


class NamesALinkedNet(WarmupAttack):
    """Names a net whose module is a link to a file of the user's."""

    uri = "kin://net?module=hostile_link.Net"
    links = {"hostile_link.py": "secret"}
    needs_torch = True


class HangsTheSearch(Attack):
    """Is a package with a pipe instead of a source, which hangs whoever opens it."""

    pipes = ("hostile/aaa_pipe.py",)
    without_sandbox = "nobody searches the package"

    def step(self):
        pass


class TricksTheSignature(WarmupAttack):
    """Has a class whose signature and attributes run code and do not end."""

    files = {
        "hostile_meta.py": _SHOW
        + """
class Meta(type):
    @property
    def __signature__(cls):
        raise SystemExit("no signature")
    def __call__(cls, *arguments, **keywords):
        return cls
    def __getattr__(cls, name):
        raise KeyboardInterrupt
class Policy(metaclass=Meta):
    pass
"""
    }
    uri = "class:hostile_meta.Policy"


class NamesDangerousClasses(WarmupAttack):
    """Names a function of the standard library as its class, to be called with its settings."""

    uri = "class:subprocess.Popen?shell=true&executable=/bin/true"
    without_sandbox = "it is called in its own worker"
