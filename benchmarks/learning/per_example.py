"""Time and memory of a step with clipped per-example gradients against a plain step, in the same run.

    python benchmarks/learning/per_example.py [--peer] [--threads 1] [--device cuda] [--rows 256]

A step is forward, backward, clipping and an update without noise, on one batch of made-up rows; `private` is a whole
step of `make_private`, which also looks the rows up and adds exact noise. Steps of all kinds take turns, and the table
shows ratios of medians. With --peer, Opacus takes turns too. Memory is the growth of the resident set over the steps
(each way in a process of its own), on CUDA the most that was allocated.
"""

import argparse
import gc
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.first, self.second, self.heads = nn.LayerNorm(width), nn.LayerNorm(width), heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, inputs: Tensor) -> Tensor:
        read = self.first(inputs)
        query, key, value = (
            one(read).unflatten(2, (self.heads, -1)).transpose(1, 2) for one in (self.query, self.key, self.value)
        )
        shares = torch.softmax(query @ key.mT / query.shape[3] ** 0.5, -1)
        inputs = inputs + self.out((shares @ value).transpose(1, 2).flatten(2))
        return inputs + self.down(functional.gelu(self.up(self.second(inputs))))


class Transformer(nn.Module):
    def __init__(self, table: int = 500, width: int = 192) -> None:
        super().__init__()
        self.table, self.blocks = nn.Embedding(table, width), nn.Sequential(*[Block(width, 4) for _ in range(2)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.head(self.norm(self.blocks(self.table(inputs))).mean(1))


class Recurrent(nn.Module):
    def __init__(self, table: int = 500, width: int = 64) -> None:
        super().__init__()
        self.table, self.read = nn.Embedding(table, width), nn.LSTM(width, width, batch_first=True)
        self.head = nn.Linear(width, 10)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.head(self.read(self.table(inputs))[0][:, -1])


class Encoder(nn.Module):
    def __init__(self, table: int = 500, width: int = 64) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, batch_first=True)
        self.table, self.read = nn.Embedding(table, width), nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, 10)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.head(self.read(self.table(inputs)).mean(1))


def problem(name: str, device: str, rows: int = 256) -> tuple[nn.Module, Tensor, Tensor]:
    torch.manual_seed(0)
    images, targets = torch.randn(rows, 1, 28, 28), torch.randint(0, 10, (rows,))
    if name == "cnn":  # 26,010 parameters
        model: nn.Module = nn.Sequential(
            nn.Conv2d(1, 16, 8, 2, padding=3), nn.ReLU(), nn.MaxPool2d(2, 1), nn.Conv2d(16, 32, 4, 2), nn.ReLU(),
            nn.MaxPool2d(2, 1), nn.Flatten(), nn.Linear(512, 32), nn.ReLU(), nn.Linear(32, 10),
        )  # fmt: skip
    elif name == "mlp":  # 1.05 million
        model = nn.Sequential(
            nn.Flatten(), nn.Linear(784, 768), nn.ReLU(), nn.Linear(768, 576), nn.ReLU(), nn.Linear(576, 10)
        )
    else:  # the transformer has 1.0 million
        model = {"transformer": Transformer, "lstm": Recurrent, "encoder": Encoder}[name]()
        images = torch.randint(0, 500, (rows, 32))
    return model.to(device), images.to(device), targets.to(device)


def step_of(way: str, model: nn.Module, inputs: Tensor, targets: Tensor) -> Callable[[], None]:
    parameters, rows = list(model.parameters()), len(inputs)
    optimizer = torch.optim.SGD(parameters, lr=0.01)
    if way == "plain":

        def step() -> None:
            optimizer.zero_grad()
            functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()

    elif way.startswith("opacus"):
        from opacus import PrivacyEngine

        data = torch.utils.data.TensorDataset(inputs, targets)
        mode = way.partition("-")[2]
        extra = {"criterion": nn.CrossEntropyLoss()} if mode == "ghost" else {}
        made = PrivacyEngine().make_private(
            module=model, optimizer=optimizer, data_loader=torch.utils.data.DataLoader(data, batch_size=rows),
            noise_multiplier=1.0, max_grad_norm=1.0, poisson_sampling=False, grad_sample_mode=mode, **extra,
        )  # fmt: skip
        private, stepper, loss = made[0], made[1], made[2] if mode == "ghost" else nn.CrossEntropyLoss()

        def step() -> None:
            stepper.zero_grad()
            loss(private(inputs), targets).backward()
            stepper.step()

    elif way == "private":
        from deniable.learning.torch import make_private

        loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(inputs, targets), batch_size=rows)
        cost = {"epsilon": 1, "delta": "1e-5", "steps": 10_000, "expected_rows": rows}  # all rows in every step
        _, stepper, _ = make_private(model, optimizer, loader, loss=nn.CrossEntropyLoss(), microbatch=rows, **cost)

        def step() -> None:
            stepper.draw()
            stepper.step()

    else:
        from deniable.learning.torch import ClippedGradients

        clipped = ClippedGradients(
            model, lambda output, target: functional.cross_entropy(output, target, reduction="none"), norm=1, method=way
        )

        def step() -> None:
            for parameter, total in zip(parameters, clipped(inputs, targets), strict=True):
                parameter.grad = (total / rows).to(parameter.dtype)
            optimizer.step()

    return step


def seconds(step: Callable[[], None], device: str) -> float:
    start = time.perf_counter()
    step()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def memory(name: str, way: str, device: str, rows: int) -> float:
    """Megabytes that steps add to what the process held before."""
    gc.collect()
    held = torch.cuda.memory_allocated() if device == "cuda" else 0
    step = step_of(way, *problem(name, device, rows))
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    before = highest()
    for _ in range(3):
        step()
    return (torch.cuda.max_memory_allocated() - held) / 2**20 if device == "cuda" else highest() - before


def highest() -> float:
    """Megabytes that this process ever held; `getrusage` would count those of its parent too."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--models", nargs="*", default=["cnn", "mlp", "transformer", "encoder", "lstm"])
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--memory", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    if asked.memory:
        print(json.dumps(memory(*asked.memory, asked.device, asked.rows)))
        return
    ways = ["plain", "layers", "vmap", "private", *(["opacus-hooks", "opacus-ghost"] if asked.peer else [])]
    print("| model | way | seconds | of plain | MB | of plain |\n|---|---|---|---|---|---|")
    for name in asked.models:
        steps = {way: step_of(way, *problem(name, asked.device, asked.rows)) for way in ways}
        taken: dict[str, list[float]] = {way: [] for way in ways}
        for turn in range(asked.steps + 2):
            for way, step in steps.items():
                once = seconds(step, asked.device)
                if turn > 1:
                    taken[way].append(once)
        if asked.device == "cuda":
            used = {way: memory(name, way, asked.device, asked.rows) for way in ways}
        else:
            same = [
                sys.executable,
                __file__,
                "--threads",
                str(asked.threads),
                "--rows",
                str(asked.rows),
                "--memory",
                name,
            ]
            used = {way: float(subprocess.run([*same, way], capture_output=True, check=True).stdout) for way in ways}
        for way in ways:
            middle, plain = statistics.median(taken[way]), statistics.median(taken["plain"])
            print(f"| {name} | {way} | {middle:.5f} | {middle / plain:.2f} | {used[way]:.0f} | "
                  f"{used[way] / max(used['plain'], 1):.2f} |")  # fmt: skip


if __name__ == "__main__":
    main()
