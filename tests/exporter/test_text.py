"""Kernel files in, text format out: for any content."""

import math
import re

from hypothesis import given
from hypothesis import strategies as st

from remediator.exporter.exposition import Column, Table, escaped, label_text
from remediator.exporter.parsing import StatIndex, flat, meminfo, number, oom_kills, stalled

KEYS = [b"anon", b"file", b"shmem", b"pgmajfault"]
CONTENT = st.one_of(
    st.binary(max_size=200),
    st.lists(
        st.tuples(
            st.sampled_from([*KEYS, b"other", b"anon_thp", b""]), st.one_of(st.integers(0, 2**64), st.just("max"))
        ),
        max_size=12,
    ).map(lambda lines: b"".join(b"%s %s\n" % (key, str(value).encode()) for key, value in lines)),
)


@given(CONTENT)
def test_no_content_of_a_kernel_file_is_an_error(data):
    """Whatever a file holds, parsers give numbers of it or nothing."""
    flat(data), meminfo(data), stalled(data), oom_kills(data)
    assert (found := number(data)) is None or found >= 0


@given(st.lists(CONTENT, min_size=1, max_size=4))
def test_remembered_places_find_what_a_search_finds(files):
    """StatIndex is only faster: over any sequence of files it tells what reading every line would tell."""
    index = StatIndex(KEYS)
    for data in files:
        if len(set(found := re.findall(rb"(?m)^(\S*) ", data))) != len(found):
            continue  # no kernel file has a key twice
        told = flat(data)
        assert index.values(data) == [told.get(key) for key in KEYS]


@given(st.text(st.characters(codec="utf-8")))
def test_an_escaped_label_reads_back_as_it_was(value):
    """Prometheus' three escapes, undone, give the name; nothing ends the line or the quotes early."""
    text = escaped(value)
    assert "\n" not in text
    assert re.fullmatch(r'(?:[^"\\\n]|\\["\\n])*', text)
    undone = re.sub(r'\\(["\\n])', lambda match: "\n" if match[1] == "n" else match[1], text)
    assert undone == value


@given(st.binary())
def test_bytes_that_are_no_utf8_are_shown(name):
    """A name of any bytes becomes a valid label value."""
    escaped(name.decode("utf-8", "surrogateescape")).encode("utf-8")


ROWS = st.lists(st.tuples(*[st.one_of(st.none(), st.integers(0, 2**63), st.floats(0, 1e9))] * 2), max_size=5)


@given(st.lists(st.tuples(ROWS, st.integers(0, 1)), min_size=1, max_size=4))
def test_a_table_writes_what_each_line_alone_would_be(scrapes):
    """Templates and reuse change nothing in the text, whoever comes, goes or loses a value; `%` is plain text."""
    table = Table([Column("a_bytes", "gauge", "100 % of A."), Column("b_total", "counter", "B.", ',kind="some"')])
    for rows, shift in scrapes:
        labels = [label_text([("uid", f"{number + shift}%s"), ("qos", "")]) for number in range(len(rows))]
        wanted = []
        for place, (name, label) in enumerate((("a_bytes", ""), ("b_total", ',kind="some"'))):
            for text, row in zip(labels, rows, strict=True):
                if (value := row[place]) is not None:
                    wanted.append((f"{name}{{{text}{label}}}", value))
        lines = [line for line in b"".join(table.parts(labels, rows)).decode().splitlines() if line[0] != "#"]
        written = [line.rpartition(" ") for line in lines]
        assert [name for name, _, _ in written] == [name for name, _ in wanted]
        assert all(math.isclose(float(told), value) for (_, _, told), (_, value) in zip(written, wanted, strict=True))
