import torch

from kinfolk.jobs.bench_nets import INPUTS, TorchGather, grown


def test_the_reference_does_what_our_nets_do():
    nets = grown(4)
    nets.graph.passes[:] = 2
    reference, memory = TorchGather(nets, 3), None
    for step in range(20):
        x = torch.randn(4, 3, INPUTS, generator=torch.Generator().manual_seed(step))
        out, memory = nets(x, memory)
        assert torch.allclose(reference.stepper(x)(), out, atol=2e-3, rtol=2e-3)
    assert out.abs().max() > 0.1
