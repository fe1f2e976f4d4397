"""The GEMM rate of one rank: square matrices, one thread. Prints GFLOP/s, best of some. gemm_peak.py bf16|fp32"""
import sys
import time

import torch

torch.set_num_threads(1)
size = 2048
dtype = {"bf16": torch.bfloat16, "fp32": torch.float32}[sys.argv[1]]
a, b = torch.randn(size, size).to(dtype), torch.randn(size, size).to(dtype)
best = 0.0
for _ in range(8):
    began = time.perf_counter()
    torch.mm(a, b)
    best = max(best, 2 * size**3 / (time.perf_counter() - began) / 1e9)
print(best)
