"""Two processes train one model: the sum of their parts is that of one, with one sample and one noise."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is in the extra torch")
from deniable.learning.torch.ranks import Ranks  # noqa: E402
from deniable.noise.bits import DeterministicBits  # noqa: E402
from tests.learning.torch.test_private import line, plan_for, private  # noqa: E402

SCRIPT = """
import json, os, sys
import torch, torch.distributed as dist
from tests.learning.torch.test_private import data, line, plan_for, Purse, square
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from deniable.learning.torch import make_private
from deniable.noise.bits import DeterministicBits
from deniable.errors import DeniableError

rank, place = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("gloo", init_method=f"file://{place}", rank=rank, world_size=2)
torch.manual_seed(rank)  # other beginnings, which the first process overrules
model = torch.nn.Linear(3, 1) if rank else line()
wrapped = torch.nn.parallel.DistributedDataParallel(model)
purse = Purse()
loader = DataLoader(data(), batch_size=20, sampler=DistributedSampler(data()))
given = {"plan": plan_for(line(), rate="1/30", steps=12), "expected_rows": 60, "loss": square}
_, optimizer, rows = make_private(wrapped, torch.optim.SGD(model.parameters(), lr=1), loader, ledger=purse,
                                  bits=DeterministicBits(5 if rank == 0 else 77), **given)
sizes = []
for _ in range(12):
    inputs, _ = optimizer.draw()
    sizes.append(len(inputs))
    optimizer.step()
refused = []
for changed in ({"ledger": Purse(refuses=rank == 0)}, {"plan": plan_for(line(), steps=3 + rank)}):
    try:
        make_private(wrapped, torch.optim.SGD(model.parameters(), lr=1), loader, **{**given, **changed})
    except DeniableError as error:
        refused.append(type(error).__name__)
weights = torch.cat([each.detach().flatten() for each in model.parameters()]).tolist()
print(json.dumps({"weights": weights, "sizes": sizes, "paid": len(purse.paid), "refused": refused}), flush=True)
dist.barrier()
os._exit(0)  # how gloo takes its threads down is not what is tested
"""


def alone() -> tuple[list[float], list[int]]:
    """The same run in one process."""
    _, optimizer, _ = found = private(plan=plan_for(line(), rate="1/30", steps=12), bits=DeterministicBits(5))
    sizes = []
    for _ in range(12):
        sizes.append(len(optimizer.draw()[0]))
        optimizer.step()
    return torch.cat([each.detach().flatten() for each in found[0].parameters()]).tolist(), sizes


def test_two_processes_take_the_steps_of_one(tmp_path: Path) -> None:
    """One sample, one sum, one noise, one payment; every process takes its empty steps; all of them hear a refusal."""
    command = [sys.executable, "-c", SCRIPT]
    running = [
        subprocess.Popen(
            [*command, str(rank), str(tmp_path / "meeting")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[3],
        )
        for rank in (0, 1)
    ]
    answers = [each.communicate(timeout=200) for each in running]
    assert [each.returncode for each in running] == [0, 0], answers
    first, second = (json.loads(said.splitlines()[-1]) for said, _ in answers)
    weights, sizes = alone()
    assert first["weights"] == second["weights"] == pytest.approx(weights, abs=1e-6)
    assert [one + other for one, other in zip(first["sizes"], second["sizes"], strict=True)] == sizes
    assert min(sizes) == 0
    assert (first["paid"], second["paid"]) == (1, 0)
    assert (first["refused"], second["refused"]) == (["BudgetExceededError", "InvalidParameterError"],) * 2


def test_one_process_needs_no_others() -> None:
    ranks = Ranks()
    assert (ranks.count, ranks.mine([4])) == (1, [4])
    assert ranks.run_on_first(lambda: 3) == 3
    assert ranks.mine([1, 2, 3]) == [1, 2, 3]
    assert ranks.add_up(torch.ones(2, dtype=torch.int64)).tolist() == [1, 1]
    ranks.agree("plan")
