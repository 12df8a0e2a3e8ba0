"""SipHash-2-4 with 128 bits of output, from its definition (Aumasson, Bernstein 2012), in plain Python."""

from __future__ import annotations

_MASK = 2**64 - 1


def siphash(key: bytes, data: bytes) -> bytes:
    k0, k1 = (int.from_bytes(key[i : i + 8], "little") for i in (0, 8))
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]
    v[1] ^= 0xEE
    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) % 256])
    for i in range(0, len(padded), 8):
        word = int.from_bytes(padded[i : i + 8], "little")
        v[3] ^= word
        _rounds(v, 2)
        v[0] ^= word
    v[2] ^= 0xEE
    _rounds(v, 4)
    first = v[0] ^ v[1] ^ v[2] ^ v[3]
    v[1] ^= 0xDD
    _rounds(v, 4)
    return first.to_bytes(8, "little") + (v[0] ^ v[1] ^ v[2] ^ v[3]).to_bytes(8, "little")


def _rounds(v: list[int], number: int) -> None:
    for _ in range(number):
        v[0] = (v[0] + v[1]) & _MASK
        v[1] = _rotated(v[1], 13) ^ v[0]
        v[0] = _rotated(v[0], 32)
        v[2] = (v[2] + v[3]) & _MASK
        v[3] = _rotated(v[3], 16) ^ v[2]
        v[0] = (v[0] + v[3]) & _MASK
        v[3] = _rotated(v[3], 21) ^ v[0]
        v[2] = (v[2] + v[1]) & _MASK
        v[1] = _rotated(v[1], 17) ^ v[2]
        v[2] = _rotated(v[2], 32)


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> (64 - bits)) & _MASK
