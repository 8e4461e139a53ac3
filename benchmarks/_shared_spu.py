"""One measured run of SecretFlow SPU for `benchmarks.shared`, in a process of its own: signatures in, levels out.

    python benchmarks/_shared_spu.py FILE FORM LEVELS

FILE (npz) has `alice` and `bob`, uint64 of shape (groups, 32, words), `limits` and `bits`; every row of a group is
compared with all 32 of the other file. SPU's three parties of ABY3 are threads of this process with links in memory.
LEVELS (npy) gets the number of limits that each pair does not exceed. Prints SPU's own statistics of its links, and
JSON in the last line: processor seconds of the three together, without making shares and compiling, and what is there.
Imports nothing of Gemel, so that it runs in any environment that has spu.

Three ways to write it are measured, since the library does not choose one:

* `matmul`: signatures of +-1 and products of matrices over the ring, one element sent a pair; then each limit compared.
  SPU's 32-bit ring ends the process in a product of 32 x 256 by 256 x 32, so the ring has 64 bits.
* `popcount`: exclusive or of packed words and the library's count of ones, in the ring of 32 bits.
* `circuit`: the circuit that Gemel evaluates, 64 pairs a word, written by its gates: SPU as a mere carrier of *and*.
"""

from __future__ import annotations

import importlib
import json
import resource
import sys
import threading
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

jax: Any = importlib.import_module("jax")
libspu: Any = importlib.import_module("spu.libspu")
jnp = jax.numpy
ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
WORD = 64


def matmul(
    alice: np.ndarray, bob: np.ndarray, limits: list[int], bits: int
) -> tuple[tuple[np.ndarray, ...], Callable[..., list[Any]]]:
    """Inputs and function: an inner product of +-1 is `bits - 2 d`."""

    def signs(words: np.ndarray) -> np.ndarray:
        return 1 - 2 * np.unpackbits(words.view(np.uint8), axis=-1, bitorder="little").astype(np.int32)

    def levels(one: Any, other: Any) -> list[Any]:
        product = jnp.matmul(one, other)
        return [(product > bits - 2 * limit - 1).astype(jnp.int32) for limit in limits]

    return (signs(alice), signs(bob).transpose(0, 2, 1).copy()), levels


def popcount(
    alice: np.ndarray, bob: np.ndarray, limits: list[int], bits: int
) -> tuple[tuple[np.ndarray, ...], Callable[..., list[Any]]]:
    """Inputs and function: packed words of the ring's width."""
    groups, rows, _ = alice.shape
    one, other = alice.view(np.uint32), bob.view(np.uint32)
    one = np.repeat(one, rows, axis=1).reshape(groups * rows * rows, -1)
    other = np.broadcast_to(other[:, None], (groups, rows, *other.shape[1:])).reshape(len(one), -1).copy()

    def levels(one: Any, other: Any) -> list[Any]:
        apart = jax.lax.population_count(jnp.bitwise_xor(one, other)).astype(jnp.int32).sum(-1)
        return [(apart < limit + 1).astype(jnp.int32) for limit in limits]

    return (one, other), levels


def circuit(
    alice: np.ndarray, bob: np.ndarray, limits: list[int], bits: int
) -> tuple[tuple[np.ndarray, ...], Callable[..., list[Any]]]:
    """Inputs and function: rows are turned into shared bits once, and gathered and transposed without a message."""
    groups, rows, words = alice.shape

    def levels(one: Any, other: Any) -> list[Any]:
        # SPU shares integers over the ring: a flip of all bits, undone in the exclusive or, makes them shared bits.
        one, other = one ^ ONES, other ^ ONES
        one = jnp.broadcast_to(one[:, :, None, :], (groups, rows, rows, words)).reshape(-1, WORD, words)
        other = jnp.broadcast_to(other[:, None, :, :], (groups, rows, rows, words)).reshape(-1, WORD, words)
        planes = _transposed(one ^ other, words).transpose(1, 2, 0).reshape(bits, -1)
        ones = _count(planes)
        return [_within(ones, limit) for limit in limits]

    return (alice, bob), levels


def _transposed(words: Any, n_words: int) -> Any:
    """Bit k of 64 pairs' words as one word: shape (blocks, 64, n_words), by exchanges of ever smaller squares."""
    blocks, half = words.shape[0], WORD // 2
    while half:
        mask = sum(1 << bit for bit in range(WORD) if not bit // half % 2)
        pairs = words.reshape(blocks, WORD // (2 * half), 2, half, n_words)
        low, high = pairs[:, :, 0], pairs[:, :, 1]
        by = jnp.full(low.shape, half, dtype=jnp.uint64)
        moved = (jax.lax.shift_right_logical(low, by) ^ high) & jnp.full(low.shape, mask, dtype=jnp.uint64)
        low, high = low ^ jax.lax.shift_left(moved, by), high ^ moved
        words = jnp.stack([low, high], axis=2).reshape(blocks, WORD, n_words)
        half //= 2
    return words


def _count(planes: Any) -> list[Any]:
    """The number of ones among the planes, least bit first: full adders, an *and* each."""
    columns: list[list[Any]] = [[planes]]
    total = []
    for place in range(planes.shape[0].bit_length()):
        if place == len(columns):
            break
        carries: list[Any] = []
        single: list[Any] = []
        waiting = columns[place]
        while waiting:
            held = waiting.pop()
            third = held.shape[0] // 3
            if third:
                one, two, three = (held[part * third : (part + 1) * third] for part in range(3))
                carries.append(((one ^ three) & (two ^ three)) ^ three)
                waiting.append(one ^ two ^ three)
            single.extend(held[row : row + 1] for row in range(3 * third, held.shape[0]))
        while len(single) > 1:
            one, two, *rest = single
            if rest:
                carries.append(((one ^ rest[0]) & (two ^ rest[0])) ^ rest[0])
                single = [*rest[1:], one ^ two ^ rest[0]]
            else:
                carries.append(one & two)
                single = [one ^ two]
        total.append(single[0][0])
        if carries:
            columns.append(carries)
    return total


def _within(number: list[Any], limit: int) -> Any:
    """Whether a number of shared bits is at most a limit, from its least bit."""
    found = None  # true so far for every pair
    for place, bit in enumerate(number):
        no = bit ^ ONES
        if limit >> place & 1:
            found = None if found is None else (no & found) ^ no ^ found
        else:
            found = no if found is None else no & found
    return number[0] ^ number[0] ^ ONES if found is None else found  # every number of so many bits is at most all ones


FORMS = {"matmul": (matmul, "FM64"), "popcount": (popcount, "FM32"), "circuit": (circuit, "FM64")}


def main(path: str, form: str, out: str) -> None:
    """Measure one run and print it."""
    jax.config.update("jax_enable_x64", form == "circuit")
    api, frontend = importlib.import_module("spu.api"), importlib.import_module("spu.utils.frontend")
    with np.load(path) as held:
        alice, bob, bits = held["alice"], held["bob"], int(held["bits"])
        limits = [int(limit) for limit in held["limits"]]
    made, ring = FORMS[form]
    inputs, levels = made(alice, bob, limits, bits)
    config = libspu.RuntimeConfig(protocol=libspu.ProtocolKind.ABY3, field=getattr(libspu.FieldType, ring))
    config.enable_pphlo_profile = True  # prints how many bytes each party sent
    io = api.Io(3, config)
    secret = libspu.Visibility.VIS_SECRET
    names = [f"in{place}" for place in range(len(inputs))]
    program, _ = frontend.compile(
        frontend.Kind.JAX,
        levels,
        inputs,
        {},
        names,
        [secret] * len(inputs),
        lambda flat: [f"out{place}" for place in range(len(flat))],
        copts=libspu.CompilerOptions(),
    )
    shares = [io.make_shares(each, secret) for each in inputs]
    description = libspu.link.Desc()
    for party in range(3):
        description.add_party(f"party {party}", f"thread_{party}")
    results: list[list[Any]] = [[], [], []]

    def run(party: int) -> None:
        runtime = api.Runtime(libspu.link.create_mem(description, party), config)
        for name, share in zip(names, shares, strict=True):
            runtime.set_var(name, share[party])
        runtime.run(program)
        results[party] = [runtime.get_var(name) for name in program.output_names]

    started, used = time.perf_counter(), time.process_time()
    parties = [threading.Thread(target=run, args=(party,)) for party in range(3)]
    for thread in parties:
        thread.start()
    for thread in parties:
        thread.join()
    cpu, seconds = time.process_time() - used, time.perf_counter() - started
    opened = [io.reconstruct([result[place] for result in results]) for place in range(len(limits))]
    if form == "circuit":
        opened = [np.unpackbits(bit.astype(np.uint64).view(np.uint8), bitorder="little") for bit in opened]
    np.save(out, sum(bit.astype(np.uint8).ravel() for bit in opened))
    packages = list(metadata.distributions())
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(
        json.dumps(
            {"cpu": cpu, "seconds": seconds, "memory": memory, "version": metadata.version("spu"), **_size(packages)}
        )
    )


def _size(packages: list[metadata.Distribution]) -> dict[str, int]:
    """Packages of the environment but for what installs them, and MiB of their files."""
    used = [package for package in packages if package.metadata["Name"] not in ("pip", "setuptools")]
    files = (Path(str(package.locate_file(file))) for package in used for file in package.files or ())
    total = sum(file.stat().st_size for file in files if file.is_file() and file.suffix != ".pyc")
    return {"packages": len(used), "installed": total >> 20}


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3])
