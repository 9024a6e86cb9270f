"""Nets as users write them, for `kin://net?module=own_nets.NAME`."""

import torch
from torch import nn
from torch.nn import functional


class Odd(nn.Module):
    """Odd widths, LayerNorm, and a critic with a single output."""

    def __init__(self, shape, width=13):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(shape.inputs, 7),
            nn.Tanh(),
            nn.Linear(7, width),
            nn.LayerNorm(width),
            nn.GELU(),
        )
        self.actor, self.critic = nn.Linear(width, shape.outputs), nn.Linear(width, 1)

    def forward(self, x):
        seen = self.body(x)
        return self.actor(seen), self.critic(seen)[:, 0]


class Double(Odd):
    """Computes in float64."""

    def __init__(self, shape):
        super().__init__(shape)
        self.double()

    def forward(self, x):
        logits, value = super().forward(x.double())
        return logits.float(), value.float()


class Remembering(nn.Module):
    """An LSTM cell and layers written without nn.Linear."""

    def __init__(self, shape, cells=9):
        super().__init__()
        self.memory_size = 2 * cells
        self.weight = nn.Parameter(torch.randn(11, shape.inputs))
        self.cell = nn.LSTMCell(11, cells)
        self.out = nn.Parameter(torch.randn(shape.outputs + 1, cells))

    def forward(self, x, memory):
        seen = torch.relu(functional.linear(x, self.weight))
        h, c = self.cell(seen, tuple(memory.chunk(2, dim=1)))
        out = h @ self.out.T
        return out[:, 1:], out[:, 0], torch.cat([h, c], dim=1)


class Attentive(nn.Module):
    """Attention of a row over its own inputs, cut into tokens of 10 numbers."""

    def __init__(self, shape):
        super().__init__()
        self.attention = nn.TransformerEncoderLayer(10, 2, 17, batch_first=True)
        self.size = shape.inputs // 10 * 10
        self.out = nn.Linear(self.size, shape.outputs + 1)

    def forward(self, x):
        out = self.out(self.attention(x[:, : self.size].reshape(len(x), -1, 10)).flatten(1))
        return out[:, 1:], out[:, 0]


class Filters(nn.Module):
    """Convolutions with odd numbers of channels."""

    def __init__(self, shape):
        super().__init__()
        self.filters = nn.Sequential(nn.Conv1d(1, 5, 3), nn.ReLU(), nn.Conv1d(5, 3, 3), nn.ReLU())
        self.out = nn.Linear(3 * (shape.inputs - 4), shape.outputs + 1)

    def forward(self, x):
        out = self.out(self.filters(x[:, None]).flatten(1))
        return out[:, 1:], out[:, 0]


class Normed(nn.Module):
    """Batch norm, dropout, and a parameter without axes."""

    def __init__(self, shape):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(shape.inputs, 15), nn.BatchNorm1d(15), nn.ReLU(), nn.Dropout(0.5)
        )
        self.scale = nn.Parameter(torch.tensor(0.5))
        self.out = nn.Linear(15, shape.outputs + 1)

    def forward(self, x):
        out = self.scale * self.out(self.body(x))
        return out[:, 1:], out[:, 0]


class ZeroHead(Odd):
    """Starts with logits of zero; its odd layers matter once it has learned."""

    def __init__(self, shape):
        super().__init__(shape)
        nn.init.zeros_(self.actor.weight)
        nn.init.zeros_(self.critic.weight)


class Mixing(Odd):
    """Subtracts the mean of its batch: its rows depend on each other."""

    def forward(self, x):
        return super().forward(x - x.mean(dim=0))


class Noisy(Odd):
    """Applies dropout also in eval mode."""

    def forward(self, x):
        return super().forward(functional.dropout(x, 0.5, training=True))


class Column(Odd):
    """Returns its values as a column."""

    def forward(self, x):
        logits, value = super().forward(x)
        return logits, value[:, None]


class Actor(Odd):
    """Returns no values."""

    def forward(self, x):
        return super().forward(x)[0]


class Wide(Odd):
    """Has one logit too many."""

    def __init__(self, shape):
        super().__init__(shape._replace(outputs=shape.outputs + 1))


class Forgetful(Odd):
    """Has a memory size, but returns no memory."""

    memory_size = 3

    def forward(self, x, memory):
        return super().forward(x)


class FourInputs(nn.Module):
    """A net for CartPole, which shows 4 numbers."""

    def __init__(self, shape):
        super().__init__()
        self.actor, self.critic = nn.Linear(4, shape.outputs), nn.Linear(4, 1)

    def forward(self, x):
        x = x.view(-1, 4)
        return self.actor(x), self.critic(x)[:, 0]
