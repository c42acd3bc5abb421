"""Measures the embedder on a GPU: passages a second, the share of the bound, and how far the vectors differ.

    python -m benchmarks.gpu_embedding FOLDER      # here: packs the weights that ship, 24 MB
    python training/gpu_embedding.py FOLDER        # there: needs torch, numpy and nvcc, no network

Passages have 200 word pieces, drawn at random with the frequencies of a language, all of one length, so that
nothing is padded. They come from the host's memory as numbers of word pieces, and their vectors go back to
it; cutting texts into pieces is left out. Weights and what flows between the layers have 16 bits (fp16), sums
of products 32, except the scores of attention. All is computed by kernels of our own (`gpu_embedding.cu`, for
Hopper GPUs), and a batch is one CUDA graph. Each size of a batch is measured and printed, the best one again.

**The bound** is the sum over all operations of the larger of FLOPs / peak and bytes / bandwidth, as if each
read what it needs from the GPU's memory once and wrote its result there once: 989 TFLOP/s (dense fp16, fp32
sums) and 4.8 TB/s for an H200; `--peak` and `--bandwidth` for others. Exponentials are counted as free.

**The vectors** are compared with those of `expected.npz`: 32-bit sums and values on a processor with the same
weights (goal: no component differs by more than 1e-3), and the 8-bit embedder itself, whose own rounding is
the larger part of that difference.

Without a GPU it checks the weights and the vectors of a few passages, with PyTorch's operations.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

PIECES, HEADS, SIZE, WIDE, LAYERS, EPSILON = 200, 12, 384, 1536, 6, 1e-12
HEAD = SIZE // HEADS
ROWS = 128  # of a tile of the kernels: batches have a multiple of 128 word pieces
BATCHES = (1056, 2112, 4224)  # whole tiles for each of an H200's 132 multiprocessors
IN_FLIGHT = 4  # batches on their way from the host's memory and back


@dataclass(frozen=True, slots=True)
class Layer:
    """The products of a layer. Biases that are added to a sum before a norm are part of the norm before."""

    mix: Tensor
    mix_bias: Tensor
    out: Tensor
    norm: tuple[Tensor, Tensor]
    widen: Tensor
    widen_bias: Tensor
    narrow: Tensor
    last_norm: tuple[Tensor, Tensor]


@dataclass(frozen=True, slots=True)
class Weights:
    words: Tensor
    places: Tensor
    norm: tuple[Tensor, Tensor]
    layers: tuple[Layer, ...]


def load_weights(path: Path, *, device: str, kind: torch.dtype) -> Weights:
    """Load the weights, and compute a sum `x + b + y @ w` as `(x + b) + y @ w`.

    The norm that gives x has b in it. What reads `x + b` in place of x has a bias that takes b away again. So
    every sum is one product in place. Queries are scaled such that a share of attention is 2 to the power of
    a score.
    """
    with np.load(path) as held:
        own = {name: torch.from_numpy(held[name].astype(np.float32)) for name in held.files}
    scale = torch.ones(3 * SIZE)
    scale[:SIZE] = HEAD**-0.5 / math.log(2)

    def product(at: str) -> Tensor:
        return own[f"{at}.steps"] * own[f"{at}.scale"]

    def put(tensor: Tensor) -> Tensor:
        return tensor.to(device=device, dtype=kind).contiguous()

    def norm(at: str, more: Tensor) -> tuple[Tensor, Tensor]:
        return put(own[f"{at}.LayerNorm.weight"]), put(own[f"{at}.LayerNorm.bias"] + more)

    layers = []
    for n in range(LAYERS):
        at = f"encoder.layer.{n}."
        first, second = own[f"{at}attention.output.dense.bias"], own[f"{at}output.dense.bias"]
        after = own.get(f"encoder.layer.{n + 1}.attention.output.dense.bias", torch.zeros(SIZE))
        mix, widen = product(f"{at}attention.self"), product(f"{at}intermediate.dense")
        layers.append(
            Layer(
                mix=put((mix * scale).T),
                mix_bias=put((own[f"{at}attention.self.bias"] - first @ mix) * scale),
                out=put(product(f"{at}attention.output.dense").T),
                norm=norm(f"{at}attention.output", second),
                widen=put(widen.T),
                widen_bias=put(own[f"{at}intermediate.dense.bias"] - second @ widen),
                narrow=put(product(f"{at}output.dense").T),
                last_norm=norm(f"{at}output", after),
            )
        )
    return Weights(
        words=put(own["words"] * own["words.scale"]),
        places=put(own["places"][:PIECES]),
        norm=norm("embeddings", own["encoder.layer.0.attention.output.dense.bias"]),
        layers=tuple(layers),
    )


def embed_plainly(pieces: Tensor, weights: Weights) -> Tensor:
    """Embed passages with PyTorch's operations: what the kernels compute, for machines without a GPU."""
    x = F.embedding(pieces, weights.words) + weights.places
    x = F.layer_norm(x, (SIZE,), *weights.norm, EPSILON).view(-1, SIZE)
    for layer in weights.layers:
        mixed = torch.addmm(layer.mix_bias, x, layer.mix.T)
        parts = mixed.view(-1, PIECES, 3, HEADS, HEAD).permute(2, 0, 3, 1, 4).unbind(0)
        found = F.scaled_dot_product_attention(*parts, scale=math.log(2)).transpose(1, 2).reshape(-1, SIZE)
        x = F.layer_norm(x + found @ layer.out.T, (SIZE,), *layer.norm, EPSILON)
        wide = F.gelu(torch.addmm(layer.widen_bias, x, layer.widen.T), approximate="tanh")
        x = F.layer_norm(x + wide @ layer.narrow.T, (SIZE,), *layer.last_norm, EPSILON)
    return F.normalize(x.view(-1, PIECES, SIZE).float().mean(1), dim=1)


# The kernels of gpu_embedding.cu, and the order in which they want the weights.


def place(name: str) -> tuple[str, type[ctypes.c_void_p]]:
    return name, ctypes.c_void_p


class StartTask(ctypes.Structure):
    """What `start` is given: places in the GPU's memory, and how many rows there are."""

    _fields_ = (
        *map(place, ("pieces", "words", "places", "norm_weight", "norm_bias", "x")),
        ("rows", ctypes.c_int),
    )


class LayerTask(ctypes.Structure):
    """What `finish_layer` is given: places in the GPU's memory, and how many times 128 rows there are."""

    _fields_ = (
        *map(place, ("weights", "attended", "norm_weight", "norm_bias", "last_weight", "last_bias")),
        *map(place, ("mix_bias", "widen_bias", "x", "mixed")),
        ("tiles", ctypes.c_int),
    )


def swap_chunks(rows: Tensor) -> Tensor:
    """Swap the eight chunks of each row of 64, differently in each of eight rows, for the tensor cores."""
    at = torch.arange(8)[None, :] ^ (torch.arange(rows.shape[-2]) % 8)[:, None]
    chunks = rows.unflatten(-1, (8, 8))
    return chunks.gather(-2, at[:, :, None].to(rows.device).expand(chunks.shape)).flatten(-2)


def order_columns(weight: Tensor) -> Tensor:
    """Order the columns of a product (rows here): a thread gets every fourth pair, so make those adjacent."""
    return weight.view(-1, 4, 4, 2, weight.shape[-1]).transpose(1, 2).reshape(weight.shape)


def pack_product(weight: Tensor) -> Tensor:
    """Cut (columns, 384) into pieces of 192 columns by 64, for one 384 columns after the other."""
    pieces = order_columns(weight).view(-1, 2, 192, SIZE // 64, 64).permute(0, 3, 1, 2, 4)
    return swap_chunks(pieces).flatten()


def pack_wide_products(widen: Tensor, narrow: Tensor) -> Tensor:
    """Cut the two wide products into parts, one for each 64 of the 1536 columns, of two pieces and two."""
    first = swap_chunks(widen.view(WIDE // 64, 64, SIZE // 64, 64).transpose(1, 2)).reshape(WIDE // 64, -1)
    second = swap_chunks(order_columns(narrow).view(SIZE, WIDE // 64, 64).transpose(0, 1)).reshape(
        WIDE // 64, -1
    )
    return torch.cat((first, second), 1).flatten()


def order_bias(bias: Tensor) -> Tensor:
    """Order the 1536 biases so that a thread's 16 of each 64 (every fourth pair) lie together."""
    return bias.float().view(-1, 8, 4, 2).transpose(1, 2).contiguous()


def pack_layer(layer: Layer, after: Layer | None) -> Tensor:
    """Pack all that `finish_layer` multiplies with. Attention gives the columns in another order."""
    out = order_columns(layer.out.T).T
    parts = [pack_product(out), pack_wide_products(layer.widen, layer.narrow)]
    return torch.cat(parts if after is None else [*parts, pack_product(after.mix)])


def build_library(defines: list[str]) -> ctypes.CDLL:
    """Compile gpu_embedding.cu with nvcc."""
    source = Path(__file__).with_suffix(".cu")
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder) / "layers.so"
        target = "-gencode=arch=compute_90a,code=sm_90a"
        options = ["-O3", "-std=c++17", "-shared", "-Xcompiler", "-fPIC", target]
        made = ["nvcc", *options, *(f"-D{one}" for one in defines), str(source), "-o", str(built)]
        said = subprocess.run(made, capture_output=True, text=True, check=False)
        if said.returncode:
            raise RuntimeError(f"nvcc: {said.stderr[-2000:]}")
        return ctypes.CDLL(str(built))


def check(error: int) -> None:
    if error:
        raise RuntimeError(f"CUDA error {error}")


def pointer(tensor: Tensor) -> ctypes.c_void_p:
    return ctypes.c_void_p(tensor.data_ptr())


def current_stream() -> ctypes.c_void_p:
    return ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)


@dataclass(frozen=True, slots=True)
class Buffers:
    """What flows between the kernels: every word piece's numbers, its query, key and value, and attention."""

    x: Tensor
    mixed: Tensor
    attended: Tensor

    @classmethod
    def make(cls, passages: int) -> Buffers:
        rows = passages * PIECES
        return cls(*(torch.empty((rows, n * SIZE), dtype=torch.float16, device="cuda") for n in (1, 3, 1)))


class Embedder:
    """The embedder on a GPU: a kernel for the start, two for each layer, and one for the vectors.

    The second of a layer ends with the queries, keys and values of the next layer, so it also runs before the
    first one.
    """

    def __init__(self, weights: Weights, library: ctypes.CDLL) -> None:
        self.weights, self.library = weights, library
        layers = weights.layers
        self.first_stream = pack_product(layers[0].mix)
        self.streams = [pack_layer(*pair) for pair in zip(layers, (*layers[1:], None), strict=True)]
        self.widen_biases = [order_bias(layer.widen_bias) for layer in layers]
        self.blocks = torch.cuda.get_device_properties("cuda").multi_processor_count

    def start(self, pieces: Tensor, x: Tensor) -> None:
        """Write the sum of each piece's word and place, after its norm."""
        words, places, (weight, bias) = self.weights.words, self.weights.places, self.weights.norm
        held = (one.data_ptr() for one in (pieces, words, places, weight, bias, x))
        check(self.library.run_start(ctypes.byref(StartTask(*held, len(x))), current_stream()))

    def start_layers(self, x: Tensor, mixed: Tensor) -> None:
        """Write the queries, keys and values of the first layer."""
        bias = self.weights.layers[0].mix_bias
        self.run_layer(0, weights=self.first_stream, mix_bias=bias, x=x, mixed=mixed)

    def attend(self, mixed: Tensor, attended: Tensor) -> None:
        passages = len(mixed) // PIECES
        check(self.library.run_attend(pointer(mixed), pointer(attended), passages, current_stream()))

    def finish_layer(self, n: int, buffers: Buffers) -> None:
        """Change x to what layer n makes of it; write the queries, keys and values of the next layer."""
        layer, last = self.weights.layers[n], n + 1 == LAYERS
        self.run_layer(
            2 if last else 1,
            weights=self.streams[n],
            attended=buffers.attended,
            norm_weight=layer.norm[0],
            norm_bias=layer.norm[1],
            last_weight=layer.last_norm[0],
            last_bias=layer.last_norm[1],
            mix_bias=layer.mix_bias if last else self.weights.layers[n + 1].mix_bias,
            widen_bias=self.widen_biases[n],
            x=buffers.x,
            mixed=buffers.mixed,
        )

    def run_layer(self, kind: int, **given: Tensor) -> None:
        tiles, over = divmod(len(given["x"]), ROWS)
        assert not over, f"{len(given['x'])} rows are no multiple of {ROWS}"
        task = LayerTask(tiles=tiles, **{name: one.data_ptr() for name, one in given.items()})
        blocks = min(tiles, self.blocks)
        check(self.library.run_finish_layer(ctypes.byref(task), kind, blocks, current_stream()))

    def pool(self, x: Tensor, vectors: Tensor) -> None:
        """Write the mean of each passage, of unit length."""
        check(self.library.run_pool(pointer(x), pointer(vectors), len(vectors), current_stream()))

    def embed(self, pieces: Tensor, vectors: Tensor, buffers: Buffers) -> None:
        self.start(pieces, buffers.x)
        self.start_layers(buffers.x, buffers.mixed)
        for n in range(LAYERS):
            self.attend(buffers.mixed, buffers.attended)
            self.finish_layer(n, buffers)
        self.pool(buffers.x, vectors)

    def __call__(self, pieces: Tensor) -> Tensor:
        vectors = torch.empty((len(pieces), SIZE), device="cuda")
        self.embed(pieces, vectors, Buffers.make(len(pieces)))
        return vectors


@dataclass(frozen=True, slots=True)
class Operation:
    name: str
    flops: float
    bytes: float


def list_operations() -> list[Operation]:
    """List what one word piece costs in each operation; numbers of 2 bytes, weights shared by many pieces."""
    a, wide, two = SIZE, WIDE, 2
    layer = [
        Operation("query, key, value", 2 * a * 3 * a, two * (a + 3 * a)),
        Operation("attention", 2 * 2 * PIECES * a, two * (3 * a + a)),
        Operation("attention's output, added", 2 * a * a, two * (a + a + a)),
        Operation("norm", 8 * a, two * (a + a)),
        Operation("widen, GELU", 2 * a * wide, two * (a + wide)),
        Operation("narrow, added", 2 * wide * a, two * (wide + a + a)),
        Operation("norm", 8 * a, two * (a + a)),
    ]
    first = Operation("words, places, norm", 9 * a, 4 + two * (a + a))
    last = Operation("mean of a passage", 2 * a, two * a + 4 * a / PIECES)
    return [first, *layer * LAYERS, last]


def print_bound(peak: float, bandwidth: float) -> float:
    """Print the bound for each operation; return passages a second."""
    total, by_name = 0.0, dict[str, tuple[float, str]]()
    for one in list_operations():
        by_flops, by_bytes = one.flops / peak, one.bytes / bandwidth
        total += max(by_flops, by_bytes)
        seconds = by_name.get(one.name, (0.0, ""))[0] + max(by_flops, by_bytes)
        by_name[one.name] = seconds, "FLOPs" if by_flops > by_bytes else "bytes"
    print(f"the bound at {peak / 1e12:,.0f} TFLOP/s and {bandwidth / 1e12:.2f} TB/s, µs a passage:")
    for name, (seconds, why) in by_name.items():
        print(f"  {name:28} {1e6 * PIECES * seconds:6.3f}  ({why})")
    flops = sum(one.flops for one in list_operations()) * PIECES
    print(f"  {'all':28} {1e6 * PIECES * total:6.3f}  = {1 / (PIECES * total):,.0f} passages/s")
    print(
        f"  ({flops / 1e9:.2f} GFLOP a passage: {peak / flops:,.0f} passages/s if FLOPs were all)", flush=True
    )
    return 1 / (PIECES * total)


def compare(pack: Path, embed: Callable[[Tensor], Tensor], device: str, most: int) -> tuple[float, str]:
    """Return the largest difference of a component, and with it in words the cosines."""
    with np.load(pack / "expected.npz") as held:
        passages = torch.from_numpy(held["passages"].astype(np.int32))[:most].to(device)
        exact, rounded = held["exact"][:most], held["rounded"][:most]
    found = embed(passages).float().cpu().numpy()
    differ = float(np.abs(found - exact).max())
    lowest, eight = float((found * exact).sum(1).min()), float((found * rounded).sum(1).mean())
    return differ, f"differs by {differ:.2e} at most, cosine {lowest:.6f}; to 8 bits {eight:.4f}"


def draw_passages(count: int) -> Tensor:
    random = np.random.default_rng(7)
    shares = 1 / (np.arange(29_000) + 10)
    some = random.choice(29_000, size=(4_096, PIECES), p=shares / shares.sum()) + 1_000
    some[:, 0], some[:, -1] = 101, 102
    return torch.from_numpy(some[np.arange(count) % len(some)].astype(np.int32))


class Slot:
    """A batch as one CUDA graph, the places of its pieces and vectors, and how far these have come."""

    def __init__(self, batch: int, embedder: Embedder, buffers: Buffers) -> None:
        self.pieces = draw_passages(batch).cuda()
        self.vectors = torch.empty((batch, SIZE), device="cuda")
        self.arrived, self.embedded, self.left = (torch.cuda.Event() for _ in range(3))
        embedder.embed(self.pieces, self.vectors, buffers)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            embedder.embed(self.pieces, self.vectors, buffers)


class Pipeline:
    """Embeds passages of the host's memory into the host's memory.

    Batches are computed one after the other on one stream, while others come and go on two more. The host
    only gives orders, so that the next batch always waits for the GPU and never the other way round.
    """

    def __init__(self, batch: int, embedder: Embedder) -> None:
        buffers = Buffers.make(batch)
        self.batch = batch
        self.slots = [Slot(batch, embedder, buffers) for _ in range(IN_FLIGHT)]
        self.coming, self.computing, self.going = (torch.cuda.Stream() for _ in range(3))

    def give_orders(self, slot: Slot, given: Tensor, found: Tensor) -> None:
        with torch.cuda.stream(self.coming):
            self.coming.wait_event(slot.embedded)
            slot.pieces.copy_(given, non_blocking=True)
            slot.arrived.record()
        with torch.cuda.stream(self.computing):
            self.computing.wait_event(slot.arrived)
            self.computing.wait_event(slot.left)
            slot.graph.replay()
            slot.embedded.record()
        with torch.cuda.stream(self.going):
            self.going.wait_event(slot.embedded)
            found.copy_(slot.vectors, non_blocking=True)
            slot.left.record()

    def embed(self, given: Tensor, found: Tensor) -> float:
        """Embed whole batches; return passages a second."""
        torch.cuda.synchronize()
        begun = time.perf_counter()
        for n, first in enumerate(range(0, len(given), self.batch)):
            part = slice(first, first + self.batch)
            self.give_orders(self.slots[n % IN_FLIGHT], given[part], found[part])
        torch.cuda.synchronize()
        return len(given) / (time.perf_counter() - begun)

    def compute_again(self, seconds: float) -> float:
        """Embed the same batch again and again; return passages a second, with nothing copied."""
        begun, many = time.perf_counter(), 0
        while time.perf_counter() - begun < seconds:
            for _ in range(8):
                self.slots[0].graph.replay()
            torch.cuda.synchronize()
            many += 8 * self.batch
        return many / (time.perf_counter() - begun)


def print_kernels(batch: int, embedder: Embedder) -> None:
    """Print where the time goes, by kernel."""
    from torch.profiler import ProfilerActivity, profile

    pieces = draw_passages(batch).cuda()
    embedder(pieces)
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        embedder(pieces)
        torch.cuda.synchronize()
    rows = [(e.self_device_time_total, e.key) for e in seen.key_averages() if e.self_device_time_total > 0]
    print("µs a passage in each kernel:")
    for spent, name in sorted(rows, reverse=True)[:8]:
        print(f"  {spent / batch:6.3f}  {name[:100]}", flush=True)


def measure_gpu(pack: Path, *, passages: int, bound: float, defines: list[str]) -> None:
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}", *defines)
    weights = load_weights(pack / "embedder.npz", device="cuda", kind=torch.float16)
    embedder = Embedder(weights, build_library(defines))
    differ, words = compare(pack, embedder, "cuda", 256)
    print(f"256 passages: {words}", flush=True)
    given = draw_passages(passages).pin_memory()
    found = torch.empty((passages, SIZE)).pin_memory()

    def measure(batch: int) -> float:
        pipeline, many = Pipeline(batch, embedder), passages // batch * batch
        alone = pipeline.compute_again(0.5)
        speed = pipeline.embed(given[:many], found[:many])
        print(f"batch {batch}: {speed:,.0f} passages/s, {speed / bound:.1%} of the bound; {alone:,.0f} when")
        print("  one batch stays in the GPU's memory, for half a second", flush=True)
        return speed

    speeds = {batch: measure(batch) for batch in BATCHES}
    best = max(speeds, key=lambda batch: speeds[batch])
    many = passages // best * best
    speed = Pipeline(best, embedder).embed(given[:many], found[:many])
    print(f"batch {best}, {many:,} passages, differ by {differ:.2e} at most:")
    print(f"from the host and back: {speed:,.0f} passages/s, {speed / bound:.1%} of the bound", flush=True)
    print_kernels(best, embedder)


def check_without_gpu(pack: Path) -> None:
    for kind in (torch.float32, torch.float16):
        weights = load_weights(pack / "embedder.npz", device="cpu", kind=kind)
        _, words = compare(pack, lambda pieces, held=weights: embed_plainly(pieces, held), "cpu", 8)
        print(f"{kind}, 8 passages: {words}")


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("folder", type=Path)
    options.add_argument("--passages", type=int, default=600_000)
    options.add_argument("--peak", type=float, default=989e12)
    options.add_argument("--bandwidth", type=float, default=4.8e12)
    options.add_argument("--define", nargs="*", default=[], help="for nvcc, such as ATTEND_WARPS=7")
    said = options.parse_args()
    bound = print_bound(said.peak, said.bandwidth)
    with torch.inference_mode():
        if torch.cuda.is_available():
            measure_gpu(said.folder, passages=said.passages, bound=bound, defines=said.define)
        else:
            check_without_gpu(said.folder)


if __name__ == "__main__":
    main()
