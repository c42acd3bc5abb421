"""Qwen2.5-Coder-1.5B-Instruct (Apache-2.0) out of its GGUF file, as a PyTorch model that can learn.

The four-bit blocks are widened again. Of the vocabulary only the first pieces are kept, which are those of
plain English; the rest belongs to other languages and to code. Merges that would make a piece left out are
left out too, so that every text can still be written.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import gguf
import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import BPE
from transformers import Qwen2Config, Qwen2ForCausalLM

WORDS = 48_000
MARKS = {"<|endoftext|>": 151643, "<|im_start|>": 151644, "<|im_end|>": 151645}
PARTS = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
}
WORD = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)


def load(path: Path, device: str) -> tuple[Qwen2ForCausalLM, Tokenizer]:
    """The model in bfloat16 and the tokenizer that goes with it."""
    file = gguf.GGUFReader(path)
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        weights = dict(threads.map(_tensor, [t for t in file.tensors if t.name != "token_embd.weight"]))
    config = Qwen2Config(
        vocab_size=WORDS + len(MARKS),
        hidden_size=1536,
        intermediate_size=8960,
        num_hidden_layers=28,
        num_attention_heads=12,
        num_key_value_heads=2,
        rms_norm_eps=1e-6,
        rope_parameters={"rope_type": "default", "rope_theta": 1e6},
        tie_word_embeddings=True,
        max_position_embeddings=2048,
        pad_token_id=WORDS,
        eos_token_id=WORDS + list(MARKS).index("<|im_end|>"),
        bos_token_id=None,
    )
    with torch.device(device):
        model = Qwen2ForCausalLM(config).to(torch.bfloat16)
    model.load_state_dict(weights, strict=False)
    own = {name for name, _ in model.named_parameters()}
    assert own == weights.keys(), own ^ weights.keys()
    return model, _tokenizer(file)


def _tensor(tensor: gguf.ReaderTensor) -> tuple[str, torch.Tensor]:
    blocks = tensor.data
    if tensor.name == "output.weight":  # input and output share it
        blocks = blocks[[*range(WORDS), *MARKS.values()]]
    wide = torch.tensor(gguf.quants.dequantize(blocks, tensor.tensor_type)).to(torch.bfloat16)
    return _name(tensor.name), wide


def _name(name: str) -> str:
    if name == "output.weight":
        return "model.embed_tokens.weight"
    if name == "output_norm.weight":
        return "model.norm.weight"
    _, layer, part, kind = name.split(".")
    return f"model.layers.{layer}.{PARTS[part]}.{kind}"


def _tokenizer(file: gguf.GGUFReader) -> Tokenizer:
    tokens = file.fields["tokenizer.ggml.tokens"].contents(slice(0, WORDS))
    vocabulary = {token: n for n, token in enumerate(tokens)}
    pairs = (tuple(m.split(" ")) for m in file.fields["tokenizer.ggml.merges"].contents(slice(0, WORDS)))
    merges = [(a, b) for a, b in pairs if a + b in vocabulary]
    made = Tokenizer(BPE(vocab=vocabulary, merges=merges))
    made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(WORD), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(mark, special=True) for mark in MARKS])
    return made
