import torch

from kinfolk.bench.nets import INPUTS, TorchGather, grow_nets


def test_the_reference_does_what_our_nets_do():
    nets = grow_nets(4)
    nets.graph.passes[:] = 2
    reference, memory = TorchGather(nets, 3), None
    for step in range(20):
        x = torch.randn(4, 3, INPUTS, generator=torch.Generator().manual_seed(step))
        out, memory = nets(x, memory)
        assert torch.allclose(reference.make_step(x)(), out, atol=2e-3, rtol=2e-3)
    assert out.abs().max() > 0.1
