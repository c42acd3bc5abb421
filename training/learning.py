"""What training the reader and the verifier share: the options, and how a model learns step by step."""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch
from encoder import Encoder
from safetensors.torch import save_file
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset

T = TypeVar("T")
WARMING = 400  # steps until the full rate
SAVING = 120.0  # seconds until the weights so far are written
TOKENIZER = Path("packages/octavo-models/octavo_models/tokenizer.json")


def options(doc: str | None, *, steps: int) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--base", type=Path, required=True)
    made.add_argument("--tokenizer", type=Path, default=TOKENIZER)
    made.add_argument("--data", type=Path, required=True)
    made.add_argument("--out", type=Path, required=True)
    made.add_argument("--seed", type=int, default=1)
    made.add_argument("--steps", type=int, default=steps)
    made.add_argument("--seconds", type=float, default=1e9, help="ends the schedule sooner than the steps do")
    made.add_argument("--lr", type=float, default=1.5e-4)
    made.add_argument("--workers", type=int, default=8)
    made.add_argument("--start", type=Path, help="trained weights to go on from")
    made.add_argument("--dev", type=Path, help="folder with questions to measure on")
    made.add_argument("--labels", type=Path, help="folder with what a large teacher thinks")
    made.add_argument("--own", type=float, default=1.0, help="share of what has no label that is kept beside")
    return made


def add_schedule(made: argparse.ArgumentParser, *, lr: float, seconds: float, workers: int) -> None:
    """Add the options of a run that a clock ends."""
    made.add_argument("--seed", type=int, default=1)
    made.add_argument("--lr", type=float, default=lr)
    made.add_argument("--seconds", type=float, default=seconds)
    made.add_argument("--steps", type=int, default=100_000)
    made.add_argument("--workers", type=int, default=workers)


def choose_device(seed: int) -> str:
    torch.manual_seed(seed)
    torch.backends.cuda.enable_cudnn_sdp(False)  # it would plan anew for every length
    return "cuda" if torch.cuda.is_available() else "cpu"


def batch_by_length(
    given: Sequence[T], size: int, chance: random.Random, length: Callable[[T], int]
) -> Iterator[list[T]]:
    """Shuffled batches of about the same length, without end."""
    while True:
        order = list(given)
        chance.shuffle(order)
        batches = []
        for first in range(0, len(order), size * 50):
            part = sorted(order[first : first + size * 50], key=length)
            batches += [part[k : k + size] for k in range(0, len(part), size)]
        chance.shuffle(batches)
        yield from batches


def move(batch: Any, device: str) -> Any:
    """The batch with its tensors on the device."""
    if isinstance(batch, Tensor):
        return batch.to(device, non_blocking=True)
    if isinstance(batch, dict):
        return {name: move(value, device) for name, value in batch.items()}
    return [move(value, device) for value in batch] if isinstance(batch, list | tuple) else batch


def write(model: Encoder, path: Path) -> None:
    """Whatever happens meanwhile, a file of that name is whole."""
    beside = path.with_name(path.name + ".tmp")
    save_file(model.list_learned(), beside)
    beside.replace(path)


def learn(
    model: Encoder,
    batches: IterableDataset,
    loss_of: Callable[[Any], Tensor],
    said: argparse.Namespace,
    *,
    warming: int = WARMING,
) -> Iterator[int]:
    """Takes a step for each batch until the steps or the seconds are over; gives the number of each.

    The rate is full after `warming` steps. The weights so far are in OUT.part, for a run that is ended from
    outside.
    """
    learning = [p for p in model.parameters() if p.requires_grad]
    on_gpu, device = learning[0].is_cuda, str(learning[0].device)
    optimizer = torch.optim.AdamW(learning, lr=said.lr, weight_decay=0.01, betas=(0.9, 0.98), fused=on_gpu)
    said.out.parent.mkdir(parents=True, exist_ok=True)
    ahead = 4 if said.workers else None
    given = DataLoader(
        batches, batch_size=None, num_workers=said.workers, pin_memory=on_gpu, prefetch_factor=ahead
    )
    began = saved = time.monotonic()
    for step, batch in enumerate(given):
        now = time.monotonic()
        done = max(step / said.steps, (now - began) / said.seconds)
        if done >= 1:
            return
        for group in optimizer.param_groups:
            group["lr"] = said.lr * min(1.0, (step + 1) / warming) * max(0.02, 1 - done)
        loss = loss_of(move(batch, device))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learning, 1.0)
        optimizer.step()
        if step % 500 == 0:
            print(f"step {step} loss {loss.item():.3f} {time.monotonic() - began:.0f} s", flush=True)
        if now - saved > SAVING:
            write(model, said.out.with_name(said.out.name + ".part"))
            saved = now
        yield step
