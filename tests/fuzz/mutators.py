"""Damage to bytes, as a bad disk, a bad program or a bad person may do to a file. All depends on the seed alone."""

import copy
import io
import json
import random
import struct
import zipfile
import zlib

_TELLING = (0, 1, 2, 4, 7, 8, 9, 14, 15, 16, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 2**16, 2**24, 2**30)
_EDGES = (2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1, 600_000_000, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1)
_TOKENS = (b",", b"\n", b'"', b"\0", b"nan", b"1e999", b"-1", b"{", b"]", b"\xff", b"\xc3", b"\x1b[2J", b"PK\x01\x02")
_VALUES = (None, True, -1, 0, 1, 0.5, 1e308, float("nan"), 2**31, 2**32, 2**64, "", "x" * 999, "\ud800", [], {}, [[]])
_HEAD = 512  # bytes at either end, where most of what a file says of itself stands


def generator(*seed):
    """Return the generator of one mutation."""
    return random.Random("/".join(map(str, seed)))


def mutated(data, rng):
    """Return bytes with some damage."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        if data:
            rng.choice(_WAYS)(data, rng)
    return bytes(data)


def mutated_zip(data, rng):
    """Damage a member of a zip file and pack it again, so that checksums are right; or damage the file itself."""
    if rng.random() < 0.5:
        return mutated(data, rng)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(info, archive.read(info)) for info in archive.infolist()]
    chosen, packed = rng.randrange(len(members)), io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number, (info, content) in enumerate(members):
            content = mutated(content, rng) if number == chosen else content
            archive.writestr(info.filename, content, info.compress_type)
    return packed.getvalue()


def mutated_deflated_mat(data, rng):
    """Damage what is in a compressed variable of a MATLAB 5 file and compress it again; or damage the file itself."""
    if rng.random() < 0.3:
        return mutated(data, rng)
    variables, position = [], 128
    while position < len(data):
        size = struct.unpack_from("<II", data, position)[1]
        variables.append(zlib.decompress(data[position + 8 : position + 8 + size]))
        position += 8 + size
    chosen = rng.randrange(len(variables))
    variables[chosen] = mutated(variables[chosen], rng)
    packed = [zlib.compress(variable) for variable in variables]
    return data[:128] + b"".join(struct.pack("<II", 15, len(content)) + content for content in packed)


def mutated_json(data, rng):
    """Damage what JSON says, so that it is still JSON; or damage the file itself."""
    if rng.random() < 0.2:
        return mutated(data, rng)
    content = json.loads(data)
    for _ in range(rng.choice((1, 1, 2, 3))):
        places = list(_places_in(content))
        (inside, key), (other, of_other) = rng.choice(places), rng.choice(places)
        way = rng.random()
        if way < 0.25:
            del inside[key]
        elif way < 0.85:
            inside[key] = rng.choice(_VALUES)
        else:
            inside[key] = copy.deepcopy(other[of_other])
    return json.dumps(content).encode()


def _places_in(content):
    """Give each object or list, and each of its keys, at any depth."""
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        yield content, key
        yield from _places_in(value)


def _place(data, rng, size=1):
    last = max(len(data) - size, 0)
    place = rng.choice(
        (rng.randint(0, last), rng.randint(0, min(last, _HEAD)), rng.randint(max(last - _HEAD, 0), last))
    )
    return place - place % 8 if rng.random() < 0.4 else place


def _flip(data, rng):
    data[_place(data, rng)] ^= 1 << rng.randrange(8)


def _set_byte(data, rng):
    data[_place(data, rng)] = rng.choice((rng.randrange(256), 0, 1, 0x7F, 0x80, 0xFF))


def _set_number(data, rng):
    size = rng.choice((2, 4, 4, 4, 8))
    number = rng.choice(_TELLING + _EDGES) % 2 ** (8 * size)
    _put(data, _place(data, rng, size), number.to_bytes(size, rng.choice(("little", "little", "big"))))


def _add_to_number(data, rng):
    place = _place(data, rng, 4)
    number = int.from_bytes(data[place : place + 4], "little") + rng.randint(-16, 16)
    _put(data, place, (number % 2**32).to_bytes(4, "little"))


def _put(data, place, content):
    data[place : place + len(content)] = content[: len(data) - place]


def _remove(data, rng):
    place = _place(data, rng)
    del data[place : place + rng.choice((1, 4, 8, 64, rng.randint(1, len(data))))]


def _insert(data, rng):
    place = _place(data, rng)
    data[place:place] = rng.choice((*_TOKENS, rng.randbytes(8), bytes(8)))


def _copy(data, rng):
    size = rng.choice((4, 8, 16, 64))
    source = _place(data, rng, size)
    _put(data, _place(data, rng, size), data[source : source + size])


def _blank(data, rng):
    size = rng.choice((4, 8, 64))
    _put(data, _place(data, rng, size), bytes(size))


def _cut(data, rng):
    del data[_place(data, rng) :]


_WAYS = (_flip, _flip, _set_byte, _set_byte, _set_number, _set_number, _set_number, _add_to_number, _add_to_number)
_WAYS += (_remove, _insert, _copy, _blank, _cut)
