"""The large encoder in PyTorch: all-mpnet-base-v2 (Apache-2.0), with the word pieces of the small models.

    python training/mpnet.py BASE PACKED

packs the published model.safetensors as int8 with a scale for each row, a quarter of its size, for a machine
that is reached over a narrow line. What training changed comes back as differences from the published
weights, rounded row by row in the same way (`write_changes`); they are far smaller than the weights, so that
little is lost. `export.py` adds them up again.

Word embeddings and the attention's bias for distances stay as they are. The words are those that ship:
rounded to 7 bits, in the order of BERT's vocabulary.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

HEADS, LAYERS, SIZE, WIDE = 12, 12, 768, 3072
BUCKETS, FAR = 32, 128
FIRST_PLACE = 2
WORDS = "embeddings.word_embeddings.weight"
DISTANCES = "encoder.relative_attention_bias.weight"
SHIFT, SPECIAL = 4, {101: 0, 102: 2, 0: 1, 100: 3}
BERT_WORDS = 30_522
STEPS, WORD_STEPS = 127, 64


def round_rows(tensor: np.ndarray, steps: int = STEPS) -> tuple[np.ndarray, np.ndarray]:
    """Whole steps, and the size of a step in each row."""
    most = np.abs(tensor).max(axis=-1, keepdims=True)
    size = (np.where(most > 0, most, 1) / steps).astype(np.float32)
    return np.rint(tensor / size).astype(np.int8), size[..., 0]


def order_words(words: np.ndarray) -> np.ndarray:
    """The word table in the order of BERT's vocabulary, which has other special marks and no shift."""
    order = np.arange(BERT_WORDS) + SHIFT
    for ours, theirs in SPECIAL.items():
        order[ours] = theirs
    return words[order]


def pack(base: Path, target: Path) -> None:
    from safetensors.numpy import load_file

    packed: dict[str, np.ndarray] = {}
    for name, tensor in load_file(base).items():
        if name.startswith("pooler.") or tensor.dtype != np.float32:
            continue
        if tensor.ndim == 1 or name == DISTANCES:
            packed[name] = tensor
            continue
        table = order_words(tensor) if name == WORDS else tensor
        steps = WORD_STEPS if name == WORDS else STEPS
        packed[f"{name}.q"], packed[f"{name}.s"] = round_rows(table, steps)
    np.savez(target, **packed)


def unpack(*files: Path) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    for file in files:
        held = np.load(file)
        for name in held.files:
            if name.endswith(".q"):
                found[name[:-2]] = held[name].astype(np.float32) * held[name[:-2] + ".s"][..., None]
            elif not name.endswith(".s"):
                found[name] = held[name]
    return found


class LargeLayer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        attn = nn.ModuleDict({name: nn.Linear(SIZE, SIZE) for name in ("q", "k", "v", "o")})
        self.attention = nn.ModuleDict({"attn": attn, "LayerNorm": nn.LayerNorm(SIZE, eps=1e-5)})
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(SIZE, WIDE)})
        self.output = nn.ModuleDict(
            {"dense": nn.Linear(WIDE, SIZE), "LayerNorm": nn.LayerNorm(SIZE, eps=1e-5)}
        )

    def forward(self, x: Tensor, bias: Tensor, dropout: float) -> Tensor:
        batch, length, _ = x.shape
        attn = self.attention["attn"]
        split = (attn[n](x).view(batch, length, HEADS, -1).transpose(1, 2) for n in ("q", "k", "v"))
        mixed = F.scaled_dot_product_attention(*split, attn_mask=bias)
        mixed = attn["o"](mixed.transpose(1, 2).reshape(batch, length, SIZE))
        x = self.attention["LayerNorm"](x + F.dropout(mixed, dropout, self.training))
        wide = self.output["dense"](F.gelu(self.intermediate["dense"](x)))
        return self.output["LayerNorm"](x + F.dropout(wide, dropout, self.training))


class LargeEncoder(nn.Module):
    """Pairs of texts to the outputs of each head at every piece, as `encoder.Encoder` gives them."""

    def __init__(self, base: dict[str, np.ndarray], heads: dict[str, int], *, dropout: float = 0.1) -> None:
        super().__init__()
        self.embeddings = nn.ModuleDict(
            {
                "word_embeddings": nn.Embedding(BERT_WORDS, SIZE),
                "position_embeddings": nn.Embedding(514, SIZE),
                "token_type_embeddings": nn.Embedding(2, SIZE),
                "LayerNorm": nn.LayerNorm(SIZE, eps=1e-5),
            }
        )
        self.encoder = nn.ModuleDict(
            {
                "layer": nn.ModuleList(LargeLayer() for _ in range(LAYERS)),
                "relative_attention_bias": nn.Embedding(BUCKETS, HEADS),
            }
        )
        self.head = nn.ModuleDict({name: nn.Linear(SIZE, many) for name, many in heads.items()})
        self.dropout = dropout
        nn.init.zeros_(self.embeddings["token_type_embeddings"].weight)
        own = {name: torch.from_numpy(np.asarray(t, np.float32)) for name, t in base.items()}
        left = self.load_state_dict(own, strict=False)
        strange = [n for n in left.missing_keys if not n.startswith(("head.", "embeddings.token_type"))]
        assert not strange, left
        assert not left.unexpected_keys, left
        self.embeddings["word_embeddings"].weight.requires_grad_(False)
        self.encoder["relative_attention_bias"].weight.requires_grad_(False)

    def forward(self, ids: Tensor, kinds: Tensor, mask: Tensor) -> dict[str, Tensor]:
        length = ids.shape[1]
        table = self.embeddings
        places = torch.arange(FIRST_PLACE, FIRST_PLACE + length, device=ids.device)
        x = table["word_embeddings"](ids) + table["position_embeddings"](places)
        x = table["LayerNorm"](x + table["token_type_embeddings"](kinds))
        x = F.dropout(x, self.dropout, self.training)
        distances = self.encoder["relative_attention_bias"](find_buckets(length, ids.device))
        bias = distances.permute(2, 0, 1)[None].to(torch.bfloat16 if ids.is_cuda else torch.float32)
        bias = bias.masked_fill(~mask[:, None, None, :], -1e4)
        if torch.is_autocast_enabled(ids.device.type):
            bias = bias.to(torch.bfloat16)
        for layer in self.encoder["layer"]:
            x = layer(x, bias, self.dropout)
        return {name: head(F.dropout(x, self.dropout, self.training)) for name, head in self.head.items()}

    def list_learned(self) -> dict[str, Tensor]:
        """What training changed, in half precision."""
        frozen = (WORDS, DISTANCES)
        return {n: t.detach().half().cpu() for n, t in self.state_dict().items() if n not in frozen}


def find_buckets(length: int, device: torch.device) -> Tensor:
    """For each two places the bucket of their distance.

    It is exact up to 7, then goes by the logarithm. Each side has its own buckets.
    """
    here = torch.arange(length, device=device)
    ahead = here[None, :] - here[:, None]
    far = ahead.abs()
    half, exact = BUCKETS // 2, BUCKETS // 4
    steps = torch.log(far.clamp(min=1).float() / exact) / np.log(FAR / exact) * (half - exact)
    wide = (exact + steps.long()).clamp(max=half - 1)
    return torch.where(far < exact, far, wide) + half * (ahead > 0)


def write_changes(
    model: LargeEncoder, base: dict[str, np.ndarray], folder: Path, *, most: int = 15 << 20
) -> None:
    """Differences from the published weights as int8, in files of at most `most` bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    held: dict[str, np.ndarray] = {}
    size = part = 0
    for name, tensor in model.state_dict().items():
        if name in (WORDS, DISTANCES):
            continue
        value = tensor.detach().float().cpu().numpy()
        if value.ndim == 1 or name not in base:
            made = {name: value}
        else:
            q, s = round_rows(value - base[name])
            made = {f"{name}.q": q, f"{name}.s": s}
        bytes_ = sum(a.nbytes for a in made.values())
        if held and size + bytes_ > most:
            np.savez(folder / f"changes-{part:02d}.npz", **held)
            held, size, part = {}, 0, part + 1
        held |= made
        size += bytes_
    np.savez(folder / f"changes-{part:02d}.npz", **held)


if __name__ == "__main__":
    pack(*(Path(name) for name in sys.argv[1:]))
