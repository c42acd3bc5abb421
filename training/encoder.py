"""The encoder that all our models share, in PyTorch, with the published weights of all-MiniLM-L6-v2 in it.

The names of its parameters are those of the published file, so that `octavo.models.graph` can write the
trained model as ONNX without torch. Word embeddings stay as they were published; everything else learns.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

HEADS = 12
FROZEN = "embeddings.word_embeddings.weight"


class Attention(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.self = nn.ModuleDict({name: nn.Linear(size, size) for name in ("query", "key", "value")})
        self.output = nn.ModuleDict(
            {"dense": nn.Linear(size, size), "LayerNorm": nn.LayerNorm(size, eps=1e-12)}
        )

    def forward(self, x: Tensor, mask: Tensor, dropout: float) -> Tensor:
        batch, length, size = x.shape
        split = (
            self.self[name](x).view(batch, length, HEADS, -1).transpose(1, 2)
            for name in ("query", "key", "value")
        )
        kept = dropout if self.training else 0.0
        mixed = F.scaled_dot_product_attention(*split, attn_mask=mask[:, None, None, :], dropout_p=kept)
        mixed = self.output["dense"](mixed.transpose(1, 2).reshape(batch, length, size))
        return self.output["LayerNorm"](x + F.dropout(mixed, dropout, self.training))


class Layer(nn.Module):
    def __init__(self, size: int, wide: int) -> None:
        super().__init__()
        self.attention = Attention(size)
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(size, wide)})
        self.output = nn.ModuleDict(
            {"dense": nn.Linear(wide, size), "LayerNorm": nn.LayerNorm(size, eps=1e-12)}
        )

    def forward(self, x: Tensor, mask: Tensor, dropout: float) -> Tensor:
        x = self.attention(x, mask, dropout)
        wide = self.output["dense"](F.gelu(self.intermediate["dense"](x)))
        return self.output["LayerNorm"](x + F.dropout(wide, dropout, self.training))


class Encoder(nn.Module):
    """Pairs of texts to one vector for each piece. `heads` names the linear heads and their sizes."""

    def __init__(self, base: dict[str, Tensor], heads: dict[str, int], *, dropout: float = 0.1) -> None:
        super().__init__()
        words = base[FROZEN]
        size, wide = words.shape[1], base["encoder.layer.0.intermediate.dense.weight"].shape[0]
        places, kinds = (
            base[f"embeddings.{name}_embeddings.weight"].shape[0] for name in ("position", "token_type")
        )
        self.embeddings = nn.ModuleDict(
            {
                "word_embeddings": nn.Embedding(len(words), size),
                "position_embeddings": nn.Embedding(places, size),
                "token_type_embeddings": nn.Embedding(kinds, size),
                "LayerNorm": nn.LayerNorm(size, eps=1e-12),
            }
        )
        layers = len({name.split(".")[2] for name in base if name.startswith("encoder.layer.")})
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(Layer(size, wide) for _ in range(layers))})
        self.head = nn.ModuleDict({name: nn.Linear(size, many) for name, many in heads.items()})
        self.dropout = dropout
        own = {name: tensor.float() for name, tensor in base.items() if name in self.state_dict()}
        missing = self.load_state_dict(own, strict=False).missing_keys
        strange = [name for name in missing if not name.startswith("head.")]
        assert not strange, strange
        self.embeddings["word_embeddings"].weight.requires_grad_(False)

    def forward(self, ids: Tensor, kinds: Tensor, mask: Tensor) -> dict[str, Tensor]:
        """The output of each head at every piece."""
        places = torch.arange(ids.shape[1], device=ids.device)
        table = self.embeddings
        x = table["word_embeddings"](ids) + table["position_embeddings"](places)
        x = table["LayerNorm"](x + table["token_type_embeddings"](kinds))
        x = F.dropout(x, self.dropout, self.training)
        for layer in self.encoder["layer"]:
            x = layer(x, mask, self.dropout)
        return {name: head(F.dropout(x, self.dropout, self.training)) for name, head in self.head.items()}

    def list_learned(self) -> dict[str, Tensor]:
        """What training changed, in half precision: the words are in the published file."""
        return {n: t.detach().half().cpu() for n, t in self.state_dict().items() if n != FROZEN}
