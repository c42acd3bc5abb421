// The embedder as kernels for Hopper GPUs (sm_90a), for training/gpu_embedding.py.
//
// `start` looks up the word pieces. `finish_layer` computes all that a layer does with each word piece by itself:
// the output of attention, the sum with what came in, the norm, the two wide products with GELU between, the sum,
// the norm, and then the queries, keys and values of the next layer. A block of 256 threads keeps 128 rows of 384
// numbers on the chip from the first product to the last; only weights are read between. Its two groups of 64 rows
// take turns, so that one multiplies while the other computes GELU. `attend` is attention within one head of one
// passage, `pool` the mean of a passage.
//
// Weights come as a stream of pieces of 24 KB in the order in which they are used, each laid out as the
// tensor cores read it (see pack_layer in the Python file), through a ring of slots in shared memory. The
// last of the warps that has used a slot fills it again.
//
// Sums have 32 bits (but for the scores of attention), everything else 16. Lane 4 g + q of a warp holds, of every 32
// columns of a product, those from 8 q to 8 q + 7 in rows g and g + 8: the weights' columns are ordered so.

#include <cstdint>
#include <cuda_fp16.h>

// Attention: warps of a block, and blocks of a multiprocessor.
#ifndef ATTEND_WARPS
#define ATTEND_WARPS 4
#endif
#ifndef ATTEND_BLOCKS
#define ATTEND_BLOCKS 5
#endif

namespace {

constexpr int SIZE = 384, WIDE = 1536, PIECES = 200, HEADS = 12, HEAD = 32;
constexpr int ROWS = 128, GROUP = 64, THREADS = 256, BLOCKS = SIZE / 64;
constexpr int PIECE = 24576, SLOTS = 5;
constexpr int OUT_PIECES = 12, WIDE_PIECES = 96, MIX_PIECES = 36;
constexpr uint32_t BLOCK_BYTES = 64 * 128, TILE_BYTES = ROWS * SIZE * 2;
constexpr uint32_t FULL = TILE_BYTES + SLOTS * PIECE, USED = FULL + 8 * SLOTS, SHARED = USED + 4 * SLOTS + 1024;

// What C++ has no words for: instructions of the GPU.

__device__ uint32_t address_of(const void* shared) { return static_cast<uint32_t>(__cvta_generic_to_shared(shared)); }

__device__ void init_barrier(uint32_t barrier) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
}

__device__ void await_barrier(uint32_t barrier, uint32_t phase) {
    asm volatile(
        "{\n.reg .pred done;\nAGAIN:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra AGAIN;\n}" ::"r"(barrier), "r"(phase) : "memory");
}

// Copy a piece of the weights; the barrier is told when its bytes are there.
__device__ void copy_piece(uint32_t to, const char* from, uint32_t barrier) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "n"(PIECE) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "n"(PIECE), "r"(barrier)
                 : "memory");
}

__device__ void show_barriers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

__device__ void store_word(uint32_t to, uint32_t word) {
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(word) : "memory");
}

__device__ uint32_t count_use(uint32_t counter) {
    uint32_t before;
    asm volatile("atom.acq_rel.cta.shared::cta.add.u32 %0, [%1], 1;" : "=r"(before) : "r"(counter) : "memory");
    return before;
}

__device__ void copy_chunk(uint32_t to, const void* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

__device__ void await_chunks() { asm volatile("cp.async.wait_all;" ::: "memory"); }

__device__ void store_chunk(uint32_t to, uint4 chunk) {
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(chunk.x), "r"(chunk.y), "r"(chunk.z),
                 "r"(chunk.w)
                 : "memory");
}

// Make what was written to shared memory visible to the tensor cores, and wait for the group's 128 threads.
__device__ void publish(int group) {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");
}

// Take turns with the other group: wait for it, or let it go on.
__device__ void await_turn(int group) { asm volatile("bar.sync %0, 256;" ::"r"(group + 3) : "memory"); }

__device__ void pass_turn(int group) { asm volatile("bar.arrive %0, 256;" ::"r"(4 - group) : "memory"); }

__device__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

__device__ void end_products() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

#define SUMS8(d, n)                                                                                                 \
    "+f"(d[n]), "+f"(d[n + 1]), "+f"(d[n + 2]), "+f"(d[n + 3]), "+f"(d[n + 4]), "+f"(d[n + 5]), "+f"(d[n + 6]),     \
        "+f"(d[n + 7])
#define SUMS32(d, n) SUMS8(d, n), SUMS8(d, n + 8), SUMS8(d, n + 16), SUMS8(d, n + 24)
#define NAMES32                                                                                                     \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                                        \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define NAMES96                                                                                                     \
    NAMES32                                                                                                         \
    ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "                            \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "                              \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "                              \
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"

// Add the product of 64 rows and 16 columns with 192 columns; the rows are in shared memory.
__device__ void multiply(float (&sums)[96], uint64_t rows, uint64_t columns) {
    asm volatile("{\n.reg .pred add;\nsetp.eq.u32 add, 0, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n192k16.f32.f16.f16 {" NAMES96 "}, %96, %97, add, 1, 1, 0, 0;\n}"
                 : SUMS32(sums, 0), SUMS32(sums, 32), SUMS32(sums, 64)
                 : "l"(rows), "l"(columns));
}

// The same, where the rows are in registers.
__device__ void multiply(float (&sums)[96], const uint32_t* rows, uint64_t columns) {
    asm volatile("{\n.reg .pred add;\nsetp.eq.u32 add, 0, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n192k16.f32.f16.f16 {" NAMES96
                 "}, {%96, %97, %98, %99}, %100, add, 1, 1, 0;\n}"
                 : SUMS32(sums, 0), SUMS32(sums, 32), SUMS32(sums, 64)
                 : "r"(rows[0]), "r"(rows[1]), "r"(rows[2]), "r"(rows[3]), "l"(columns));
}

// Add the product with 64 columns.
__device__ void multiply(float (&sums)[32], uint64_t rows, uint64_t columns) {
    asm volatile("{\n.reg .pred add;\nsetp.eq.u32 add, 0, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {" NAMES32 "}, %32, %33, add, 1, 1, 0, 0;\n}"
                 : SUMS32(sums, 0)
                 : "l"(rows), "l"(columns));
}

__device__ uint32_t exp2_of(uint32_t both) {
    uint32_t found;
    asm("ex2.approx.f16x2 %0, %1;" : "=r"(found) : "r"(both));
    return found;
}

__device__ uint32_t tanh_of(uint32_t both) {
    uint32_t found;
    asm("tanh.approx.f16x2 %0, %1;" : "=r"(found) : "r"(both));
    return found;
}

__device__ void read_chunk(uint32_t (&to)[4], uint32_t from) {
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from)
                 : "memory");
}

__device__ void load_matrices_turned(uint32_t (&to)[4], uint32_t from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from)
                 : "memory");
}

// Add the product of 16 rows and 16 columns with 8 columns, by one warp.
__device__ void multiply_small(float (&sums)[4], const uint32_t* rows, const uint32_t* columns) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(rows[0]), "r"(rows[1]), "r"(rows[2]), "r"(rows[3]), "r"(columns[0]), "r"(columns[1]));
}

// The same with sums of 16 bits, two in a word.
__device__ void multiply_small(uint32_t (&sums)[2], const uint32_t* rows, const uint32_t* columns) {
    asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
        : "+r"(sums[0]), "+r"(sums[1])
        : "r"(rows[0]), "r"(rows[1]), "r"(rows[2]), "r"(rows[3]), "r"(columns[0]), "r"(columns[1]));
}

__device__ uint32_t pack(float low, float high) {
    __half2 both = __floats2half2_rn(low, high);
    return *reinterpret_cast<uint32_t*>(&both);
}

__device__ __half2 halves(uint32_t both) { return *reinterpret_cast<__half2*>(&both); }

__device__ uint32_t word(__half2 both) { return *reinterpret_cast<uint32_t*>(&both); }

__device__ float2 unpack(uint32_t both) { return __half22float2(*reinterpret_cast<__half2*>(&both)); }

__device__ void unpack(float (&to)[8], uint4 chunk) {
    float2 a = unpack(chunk.x), b = unpack(chunk.y), c = unpack(chunk.z), d = unpack(chunk.w);
    to[0] = a.x, to[1] = a.y, to[2] = b.x, to[3] = b.y, to[4] = c.x, to[5] = c.y, to[6] = d.x, to[7] = d.y;
}

__device__ uint4 load_chunk(const __half* from) { return __ldg(reinterpret_cast<const uint4*>(from)); }

// How the tensor cores find 64 columns of 16 bits, row after row, the chunks of eight rows swapped ("128B").
__device__ uint64_t describe(uint32_t shared) {
    return uint64_t{1} << 62 | uint64_t{64} << 32 | uint64_t{1} << 16 | (shared & 0x3FFFF) >> 4;
}

// The ring of slots through which the weights come. Every thread keeps the same count.
struct Ring {
    const char* weights;
    uint32_t shared, lane;
    int length, left, next;
    uint32_t taken = 0, phase = 0, given = 0;

    __device__ Ring(const char* weights, uint32_t shared, uint32_t lane, int length, int tiles)
        : weights(weights), shared(shared), lane(lane), length(length), left(length * tiles), next(0) {}

    __device__ void fill(uint32_t slot) {
        copy_piece(shared + TILE_BYTES + slot * PIECE, weights + int64_t{next} * PIECE, shared + FULL + 8 * slot);
    }

    __device__ void advance() { left -= 1, next = next + 1 == length ? 0 : next + 1; }

    // Wait for the next piece.
    __device__ uint64_t take() {
        await_barrier(shared + FULL + 8 * taken, phase);
        uint64_t found = describe(shared + TILE_BYTES + taken * PIECE);
        taken += 1;
        if (taken == SLOTS) taken = 0, phase ^= 1;
        return found;
    }

    // Give the two oldest pieces back; the last of the eight warps to do so has their slots filled again.
    __device__ void give() {
        uint32_t second = given + 1 == SLOTS ? 0 : given + 1;
        bool last = left > 0 && lane == 0 && count_use(shared + USED + 4 * given) % 8 == 7;
        if (last) fill(given);
        advance();
        if (last && left > 0) fill(second);
        advance();
        __syncwarp();
        given = second + 1 == SLOTS ? 0 : second + 1;
    }
};

// The sums of 64 rows and 384 columns, in two halves.
struct Sums {
    float half[2][96];

    // The eight columns from 32 n + 8 q on, of row g (or g + 8).
    __device__ float& at(int n, int row, int column) {
        return half[n / 6][n % 6 * 16 + column / 2 * 4 + row * 2 + column % 2];
    }

    __device__ uint4 chunk(int n, int row) {
        return {pack(at(n, row, 0), at(n, row, 1)), pack(at(n, row, 2), at(n, row, 3)),
                pack(at(n, row, 4), at(n, row, 5)), pack(at(n, row, 6), at(n, row, 7))};
    }
};

// Add rows (in shared memory) times 384 columns of a weight.
__device__ void add_product(Sums& sums, uint64_t rows, Ring& ring) {
#pragma unroll 1
    for (int block = 0; block < BLOCKS; ++block) {
        begin_products();
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            uint64_t columns = ring.take();
#pragma unroll
            for (int step = 0; step < 4; ++step)
                multiply(sums.half[half], rows + block * (BLOCK_BYTES >> 4) + 2 * step, columns + 2 * step);
        }
        end_products();
        ring.give();
    }
}

// GELU by tanh of two numbers. The product that follows takes 16 bits in any case.
__device__ uint32_t gelu(float low, float high) {
    const __half2 x = __floats2half2_rn(low, high), half = __hmul2(x, __float2half2_rn(0.5f));
    const __half2 by = __hfma2(__hmul2(x, x), __float2half2_rn(0.0356774081f), __float2half2_rn(0.7978845608f));
    return word(__hfma2(half, halves(tanh_of(word(__hmul2(x, by)))), half));
}

// Add gelu(rows times 1536 columns + bias) times the 384 columns of the second weight, 64 of the 1536 at a time.
__device__ void add_wide_products(Sums& sums, uint64_t rows, Ring& ring, const float4* bias, int group) {
#pragma unroll 1
    for (int part = 0; part < WIDE / 64; ++part) {
        float wide[32];
#pragma unroll
        for (int n = 0; n < 4; ++n) {
            float4 four = __ldg(bias + part * 16 + n);
            wide[8 * n] = wide[8 * n + 2] = four.x, wide[8 * n + 1] = wide[8 * n + 3] = four.y;
            wide[8 * n + 4] = wide[8 * n + 6] = four.z, wide[8 * n + 5] = wide[8 * n + 7] = four.w;
        }
        await_turn(group);
        begin_products();
#pragma unroll
        for (int third = 0; third < 2; ++third) {
            uint64_t columns = ring.take();
#pragma unroll
            for (int step = 0; step < 12; ++step) {
                uint32_t at = step / 4 * (BLOCK_BYTES >> 4) + 2 * (step % 4);
                multiply(wide, rows + third * 3 * (BLOCK_BYTES >> 4) + at, columns + at);
            }
        }
        pass_turn(group);
        end_products();
        ring.give();
        uint32_t narrow[16];
#pragma unroll
        for (int n = 0; n < 16; ++n) narrow[n] = gelu(wide[2 * n], wide[2 * n + 1]);
        begin_products();
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            uint64_t columns = ring.take();
#pragma unroll
            for (int step = 0; step < 4; ++step) multiply(sums.half[half], narrow + 4 * step, columns + 2 * step);
        }
        end_products();
        ring.give();
    }
}

__device__ float sum_of_four_lanes(float x) {
    x += __shfl_xor_sync(~0u, x, 1);
    return x + __shfl_xor_sync(~0u, x, 2);
}

__device__ void norm_rows(Sums& sums, const __half* weight, const __half* bias) {
    float scale[2];
#pragma unroll
    for (int row = 0; row < 2; ++row) {
        float total = 0, squares = 0;
#pragma unroll
        for (int n = 0; n < 96; ++n) total += sums.at(n / 8, row, n % 8);
        float mean = sum_of_four_lanes(total) * (1.0f / SIZE);
#pragma unroll
        for (int n = 0; n < 96; ++n) {
            float& one = sums.at(n / 8, row, n % 8);
            one -= mean;
            squares += one * one;
        }
        scale[row] = rsqrtf(sum_of_four_lanes(squares) * (1.0f / SIZE) + 1e-12f);
    }
#pragma unroll
    for (int n = 0; n < 12; ++n) {
        float by[8], more[8];
        unpack(by, load_chunk(weight + 32 * n));
        unpack(more, load_chunk(bias + 32 * n));
#pragma unroll
        for (int m = 0; m < 16; ++m) {
            float& one = sums.at(n, m / 8, m % 8);
            one = one * scale[m / 8] * by[m % 8] + more[m % 8];
        }
    }
}

// Where a thread works: its group of 64 rows, and its place there.
struct Place {
    int group, row;
    uint32_t g, q, thread, tile;

    __device__ Place(uint32_t shared) {
        group = threadIdx.x / 128, thread = threadIdx.x % 128;
        g = thread % 32 / 4, q = thread % 4;
        row = thread / 32 * 16 + g;
        tile = shared + group * (TILE_BYTES / 2);
    }
};

// Copy 64 rows into the shared tile.
__device__ void copy_rows(const Place& place, const __half* rows) {
    uint32_t row = place.thread / 8, chunk = place.thread % 8;
    const __half* from = rows + row * SIZE + chunk * 8;
    uint32_t to = place.tile + row * 128 + (chunk ^ row % 8) * 16;
#pragma unroll
    for (int n = 0; n < 24; ++n)
        copy_chunk(to + n / 4 * BLOCK_BYTES + n % 4 * 2048, from + n / 4 * 64 + n % 4 * 16 * SIZE);
}

// Write the sums into the shared tile, where the next product reads them.
__device__ void share_rows(const Place& place, Sums& sums) {
#pragma unroll
    for (int n = 0; n < 24; ++n) {
        uint32_t chunk = (n / 2 % 2 * 4 + place.q) ^ place.g;
        uint32_t to = place.tile + n / 4 * BLOCK_BYTES + (place.row + n % 2 * 8) * 128 + chunk * 16;
        store_chunk(to, sums.chunk(n / 2, n % 2));
    }
}

// Write the sums to rows of the GPU's memory.
__device__ void write_rows(const Place& place, Sums& sums, __half* rows, int width) {
#pragma unroll
    for (int n = 0; n < 24; ++n) {
        __half* to = rows + int64_t{place.row + n % 2 * 8} * width + n / 2 * 32 + place.q * 8;
        *reinterpret_cast<uint4*>(to) = sums.chunk(n / 2, n % 2);
    }
}

__device__ void read_rows(const Place& place, Sums& sums, const __half* rows) {
    uint4 chunks[24];
#pragma unroll
    for (int n = 0; n < 24; ++n)
        chunks[n] = *reinterpret_cast<const uint4*>(rows + (place.row + n % 2 * 8) * SIZE + n / 2 * 32 + place.q * 8);
#pragma unroll
    for (int n = 0; n < 24; ++n) {
        float eight[8];
        unpack(eight, chunks[n]);
#pragma unroll
        for (int m = 0; m < 8; ++m) sums.at(n / 2, n % 2, m) = eight[m];
    }
}

__device__ void read_bias(const Place& place, Sums& sums, const __half* bias) {
#pragma unroll
    for (int n = 0; n < 12; ++n) {
        float eight[8];
        unpack(eight, load_chunk(bias + 32 * n + 8 * place.q));
#pragma unroll
        for (int m = 0; m < 8; ++m) sums.at(n, 0, m) = sums.at(n, 1, m) = eight[m];
    }
}

struct Task {
    const char* weights;
    const __half *attended, *norm_weight, *norm_bias, *last_weight, *last_bias, *mix_bias;
    const float4* widen_bias;
    __half *x, *mixed;
    int tiles;
};

// What comes after attention in a layer, and the start of the next: the first of all has but that start, the last
// has none.
template <bool FIRST, bool LAST>
__global__ void __launch_bounds__(THREADS, 1) finish_layer(const Task task) {
    extern __shared__ char memory[];
    const uint32_t shared = (address_of(memory) + 1023) / 1024 * 1024;
    const Place place(shared);
    const uint64_t rows = describe(place.tile);
    const int tiles = (task.tiles - 1 - static_cast<int>(blockIdx.x)) / static_cast<int>(gridDim.x) + 1;
    Ring ring(task.weights, shared, threadIdx.x % 32, (FIRST ? 0 : OUT_PIECES + WIDE_PIECES) + (LAST ? 0 : MIX_PIECES),
              tiles);
    if (threadIdx.x == 0) {
        for (int slot = 0; slot < SLOTS; ++slot) {
            init_barrier(shared + FULL + 8 * slot);
            store_word(shared + USED + 4 * slot, 0);
        }
        show_barriers();
    }
    __syncthreads();
    for (int slot = 0; slot < SLOTS; ++slot) {
        if (threadIdx.x == 0) ring.fill(slot);
        ring.advance();
    }
    __syncwarp();
    if (!FIRST && place.group == 1) pass_turn(1);
    Sums sums;
    for (int tile = blockIdx.x; tile < task.tiles; tile += gridDim.x) {
        const int64_t first = int64_t{tile} * ROWS + place.group * GROUP;
        copy_rows(place, (FIRST ? task.x : task.attended) + first * SIZE);
        if constexpr (!FIRST) read_rows(place, sums, task.x + first * SIZE);
        await_chunks();
        publish(place.group);
        if constexpr (!FIRST) {
            add_product(sums, rows, ring);
            norm_rows(sums, task.norm_weight + 8 * place.q, task.norm_bias + 8 * place.q);
            publish(place.group);
            share_rows(place, sums);
            publish(place.group);
            add_wide_products(sums, rows, ring, task.widen_bias + 4 * place.q, place.group);
            norm_rows(sums, task.last_weight + 8 * place.q, task.last_bias + 8 * place.q);
            write_rows(place, sums, task.x + first * SIZE, SIZE);
            publish(place.group);
            if constexpr (!LAST) share_rows(place, sums);
            publish(place.group);
        }
        if constexpr (!LAST) {
#pragma unroll 1
            for (int part = 0; part < 3; ++part) {
                read_bias(place, sums, task.mix_bias + part * SIZE);
                add_product(sums, rows, ring);
                write_rows(place, sums, task.mixed + first * 3 * SIZE + part * SIZE, 3 * SIZE);
            }
            publish(place.group);
        }
    }
}

// Attention of one head of one passage, 16 rows of queries for a warp at a time: their scores for all 200 keys are
// 50 words of a thread. Scores and powers have 16 bits (the product with the values takes no more), sums 32. The
// queries' weights have the scale in them, so that a share is 2 to the power of a score.
constexpr int ATTEND_THREADS = 32 * ATTEND_WARPS, STRIPS = 13, KEYS = PIECES / 8, HEAD_BYTES = STRIPS * 16 * HEAD * 2;
constexpr uint32_t ONES = 0x3C003C00;

// Where 8 numbers of a row are: the chunks of eight rows are swapped, so that reading them meets all banks.
__device__ uint32_t chunk_at(uint32_t row, uint32_t chunk) { return row * 64 + (chunk ^ row / 2 % 4) * 16; }

// The queries of 16 rows, of which a thread reads columns 8 q to 8 q + 7 in rows g and g + 8. A product does not
// depend on the order of what it adds up, and keys are read in the same order.
struct Query {
    uint32_t words[8] = {};

    __device__ void read(const __half* mixed, int strip, uint32_t lane) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            int row = strip * 16 + half * 8 + lane / 4;
            uint4 chunk = {0, 0, 0, 0};
            if (row < PIECES) chunk = load_chunk(mixed + row * 3 * SIZE + lane % 4 * 8);
            words[half] = chunk.x, words[2 + half] = chunk.y, words[4 + half] = chunk.z, words[6 + half] = chunk.w;
        }
    }
};

// Subtract from the scores of two rows the largest of each, and replace them by powers of 2.
__device__ void raise(uint32_t (&scores)[KEYS + 1][2]) {
    __half2 most[2] = {halves(scores[0][0]), halves(scores[0][1])};
#pragma unroll
    for (int n = 2; n < 2 * KEYS; ++n) most[n % 2] = __hmax2(most[n % 2], halves(scores[n / 2][n % 2]));
    __half2 both = __hmax2(__lows2half2(most[0], most[1]), __highs2half2(most[0], most[1]));
    both = __hmax2(both, __shfl_xor_sync(~0u, both, 1));
    both = __hmax2(both, __shfl_xor_sync(~0u, both, 2));
    most[0] = __low2half2(both), most[1] = __high2half2(both);
#pragma unroll
    for (int n = 0; n < 2 * KEYS; ++n)
        scores[n / 2][n % 2] = exp2_of(word(__hsub2(halves(scores[n / 2][n % 2]), most[n % 2])));
}

__global__ void __launch_bounds__(ATTEND_THREADS, ATTEND_BLOCKS) attend(const __half* mixed, __half* attended) {
    __shared__ __align__(128) char memory[2 * HEAD_BYTES];
    const uint32_t keys = address_of(memory), values = keys + HEAD_BYTES, lane = threadIdx.x % 32;
    const int head = blockIdx.x % HEADS;
    const int64_t first = int64_t{blockIdx.x / HEADS} * PIECES;
    mixed += first * 3 * SIZE + head * HEAD;
    attended += first * SIZE + head * HEAD + lane % 4 * 8;
    for (int n = threadIdx.x; n < 2 * STRIPS * 64; n += ATTEND_THREADS) {
        int part = n / (STRIPS * 64), row = n / 4 % (STRIPS * 16), chunk = n % 4;
        uint32_t to = keys + part * HEAD_BYTES + chunk_at(row, chunk);
        if (row < PIECES)
            copy_chunk(to, mixed + row * 3 * SIZE + (part + 1) * SIZE + chunk * 8);
        else
            store_chunk(to, {0, 0, 0, 0});
    }
    int strip = (threadIdx.x / 32 + head) % ATTEND_WARPS;
    Query query;
    query.read(mixed, strip, lane);
    await_chunks();
    __syncthreads();
#pragma unroll 1
    for (; strip < STRIPS; strip += ATTEND_WARPS) {
        uint32_t scores[KEYS + 1][2] = {};
#pragma unroll
        for (int n = 0; n < KEYS; ++n) {
            uint32_t key[4];
            read_chunk(key, keys + chunk_at(8 * n + lane / 4, lane % 4));
            multiply_small(scores[n], query.words, key);
            multiply_small(scores[n], query.words + 4, key + 2);
        }
        if (strip + ATTEND_WARPS < STRIPS) query.read(mixed, strip + ATTEND_WARPS, lane);
        raise(scores);
        float sums[4][4] = {}, total[4] = {};
        const uint32_t ones[2] = {ONES, ONES};
#pragma unroll
        for (int n = 0; n < STRIPS; ++n) {
            const uint32_t* shares = scores[2 * n];
            multiply_small(total, shares, ones);
#pragma unroll
            for (int pair = 0; pair < 2; ++pair) {
                uint32_t value[4];
                load_matrices_turned(value, values + chunk_at(16 * n + lane % 16, 2 * pair + lane / 16));
                multiply_small(sums[2 * pair], shares, value);
                multiply_small(sums[2 * pair + 1], shares, value + 2);
            }
        }
        // A thread has every fourth pair of the 32 columns and writes them side by side: the weights of attention's
        // output are ordered so.
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            int row = strip * 16 + half * 8 + lane / 4;
            float by = 1.0f / total[2 * half];
            uint32_t chunk[4];
#pragma unroll
            for (int n = 0; n < 4; ++n) chunk[n] = pack(sums[n][2 * half] * by, sums[n][2 * half + 1] * by);
            if (row < PIECES)
                *reinterpret_cast<uint4*>(attended + row * SIZE) = {chunk[0], chunk[1], chunk[2], chunk[3]};
        }
    }
}

__device__ float sum_of_warp(float x) {
#pragma unroll
    for (int other = 1; other < 32; other *= 2) x += __shfl_xor_sync(~0u, x, other);
    return x;
}

struct Start {
    const int* pieces;
    const __half *words, *places, *norm_weight, *norm_bias;
    __half* x;
    int rows;
};

constexpr int START_WARPS = 8;

// Look up a word piece, add its place and norm the sum: a warp for a row, four columns of every 128 for a thread.
__global__ void __launch_bounds__(32 * START_WARPS) start(const Start task) {
    const int row = blockIdx.x * START_WARPS + threadIdx.x / 32, column = threadIdx.x % 32 * 4;
    if (row >= task.rows) return;
    const __half *word = task.words + int64_t{task.pieces[row]} * SIZE, *place = task.places + row % PIECES * SIZE;
    float x[3][4], total = 0, squares = 0;
    auto read = [&](float(&to)[4], const __half* from) {
        uint2 four = __ldg(reinterpret_cast<const uint2*>(from + column));
        float2 low = unpack(four.x), high = unpack(four.y);
        to[0] = low.x, to[1] = low.y, to[2] = high.x, to[3] = high.y;
    };
#pragma unroll
    for (int n = 0; n < 3; ++n) {
        float more[4];
        read(x[n], word + 128 * n);
        read(more, place + 128 * n);
#pragma unroll
        for (int m = 0; m < 4; ++m) x[n][m] += more[m], total += x[n][m];
    }
    const float mean = sum_of_warp(total) * (1.0f / SIZE);
#pragma unroll
    for (int n = 0; n < 12; ++n) {
        float& one = x[n / 4][n % 4];
        one -= mean, squares += one * one;
    }
    const float scale = rsqrtf(sum_of_warp(squares) * (1.0f / SIZE) + 1e-12f);
#pragma unroll
    for (int n = 0; n < 3; ++n) {
        float by[4], more[4];
        read(by, task.norm_weight + 128 * n);
        read(more, task.norm_bias + 128 * n);
#pragma unroll
        for (int m = 0; m < 4; ++m) x[n][m] = x[n][m] * scale * by[m] + more[m];
        *reinterpret_cast<uint2*>(task.x + int64_t{row} * SIZE + 128 * n + column) = {pack(x[n][0], x[n][1]),
                                                                                     pack(x[n][2], x[n][3])};
    }
}

constexpr int CHUNKS = SIZE / 8, POOL_PARTS = 4;

// The mean of a passage, of unit length: a thread adds eight columns of every fourth row.
__global__ void __launch_bounds__(CHUNKS * POOL_PARTS) pool(const __half* x, float* vectors) {
    __shared__ float sums[POOL_PARTS][SIZE], squares[CHUNKS * POOL_PARTS / 32];
    const int chunk = threadIdx.x % CHUNKS, part = threadIdx.x / CHUNKS;
    const __half* from = x + int64_t{blockIdx.x} * PIECES * SIZE + chunk * 8;
    float total[8] = {};
#pragma unroll 10
    for (int row = part; row < PIECES; row += POOL_PARTS) {
        float eight[8];
        unpack(eight, load_chunk(from + row * SIZE));
#pragma unroll
        for (int m = 0; m < 8; ++m) total[m] += eight[m];
    }
#pragma unroll
    for (int m = 0; m < 8; ++m) sums[part][chunk * 8 + m] = total[m];
    __syncthreads();
    float two[2] = {}, length = 0;
#pragma unroll
    for (int n = 0; n < 2; ++n) {
#pragma unroll
        for (int m = 0; m < POOL_PARTS; ++m) two[n] += sums[m][threadIdx.x + n * CHUNKS * POOL_PARTS];
        length += two[n] * two[n];
    }
    length = sum_of_warp(length);
    if (threadIdx.x % 32 == 0) squares[threadIdx.x / 32] = length;
    __syncthreads();
    length = 0;
    for (float one : squares) length += one;
#pragma unroll
    for (int n = 0; n < 2; ++n)
        vectors[int64_t{blockIdx.x} * SIZE + threadIdx.x + n * CHUNKS * POOL_PARTS] = two[n] * rsqrtf(length);
}
}  // namespace

extern "C" int run_start(const void* given, void* stream) {
    const Start task = *static_cast<const Start*>(given);
    const int blocks = (task.rows + START_WARPS - 1) / START_WARPS;
    start<<<blocks, 32 * START_WARPS, 0, static_cast<cudaStream_t>(stream)>>>(task);
    return cudaGetLastError();
}

extern "C" int run_pool(const __half* x, float* vectors, int passages, void* stream) {
    pool<<<passages, CHUNKS * POOL_PARTS, 0, static_cast<cudaStream_t>(stream)>>>(x, vectors);
    return cudaGetLastError();
}

extern "C" int run_attend(const __half* mixed, __half* attended, int passages, void* stream) {
    attend<<<passages * HEADS, ATTEND_THREADS, 0, static_cast<cudaStream_t>(stream)>>>(mixed, attended);
    return cudaGetLastError();
}

extern "C" int run_finish_layer(const void* given, int kind, int blocks, void* stream) {
    const Task* task = static_cast<const Task*>(given);
    auto kernel = finish_layer<false, false>;
    if (kind == 0) kernel = finish_layer<true, false>;
    if (kind == 2) kernel = finish_layer<false, true>;
    cudaError_t failed = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED);
    if (failed != cudaSuccess) return failed;
    kernel<<<blocks, THREADS, SHARED, static_cast<cudaStream_t>(stream)>>>(*task);
    return cudaGetLastError();
}
