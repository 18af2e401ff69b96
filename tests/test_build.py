"""How the compiled module was built."""

import struct
from pathlib import Path

import pytest

from jcmspl import _core

DYNAMIC = 2  # the kind of segment with the dynamic section
FLAGS, FLAGS_1 = 30, 0x6FFFFFFB  # its entries with flags
BIND_NOW, NOW = 8, 1


@pytest.fixture(scope="module")
def module():
    content = Path(_core.__file__).read_bytes()
    if content[:6] != b"\x7fELF\x02\x01":
        pytest.skip("the module is no ELF file of 64 bits, little-endian: its linker has other means")
    return content


def dynamic_section(content):
    """Return the entries of the dynamic section by their kind."""
    (start,), (size, count) = struct.unpack_from("<Q", content, 32), struct.unpack_from("<HH", content, 54)
    for number in range(count):
        kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", content, start + number * size)
        if kind == DYNAMIC:
            return dict(struct.iter_unpack("<QQ", content[offset : offset + length]))
    raise AssertionError("the module has no dynamic section")


def test_the_loader_binds_all_functions_at_once(module):
    """So that the table of functions is read-only from then on."""
    entries = dynamic_section(module)
    assert entries.get(FLAGS, 0) & BIND_NOW or entries.get(FLAGS_1, 0) & NOW


def test_functions_guard_their_stack(module):
    assert b"__stack_chk_fail" in module
