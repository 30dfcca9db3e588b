# SPDX-License-Identifier: BSD-2-Clause
"""Streams under gdb.

    (gdb) source /usr/share/ustreams/gdb/ustreams-gdb.py
    (gdb) print *mp             a message, one line
    (gdb) print *q              a queue, one line
    (gdb) print *q->q_stream    a stream drawn: head, modules, driver
    (gdb) ustr-stream FD        the same for a descriptor of the program
    (gdb) ustr-queues ADDR      a queue and those ahead of it, with their messages
    (gdb) ustr-slots            who takes part: processes and threads
    (gdb) print/r *q            the bare structure

Nothing is called in the program: all is read through the debug information of
the library, so it works on a core file and on threads stopped anywhere.  Any
pointer may be garbage and any list a circle: walks are bounded, and what
cannot be read becomes text.
"""

import gdb
import gdb.printing

MOST_LISTED = 8     # messages of a queue that are shown
MOST_WALKED = 4096  # elements of any list that are followed
MOST_BLOCKS = 8     # blocks of a message that are shown
MOST_TEXT = 32      # bytes of a block that are shown

# What the headers define as macros, which debug information does not carry.
# tests/check_gdb.sh compares these with the headers.
TYPES = {
    "M_DATA": 0x00,
    "M_PROTO": 0x01,
    "M_BREAK": 0x08,
    "M_PASSFP": 0x09,
    "M_EVENT": 0x0a,
    "M_SIG": 0x0b,
    "M_DELAY": 0x0c,
    "M_CTL": 0x0d,
    "M_IOCTL": 0x0e,
    "M_SETOPTS": 0x10,
    "M_RSE": 0x11,
    "M_IOCACK": 0x81,
    "M_IOCNAK": 0x82,
    "M_PCPROTO": 0x83,
    "M_PCSIG": 0x84,
    "M_READ": 0x85,
    "M_FLUSH": 0x86,
    "M_STOP": 0x87,
    "M_START": 0x88,
    "M_HANGUP": 0x89,
    "M_ERROR": 0x8a,
    "M_COPYIN": 0x8b,
    "M_COPYOUT": 0x8c,
    "M_IOCDATA": 0x8d,
    "M_PCRSE": 0x8e,
    "M_STOPI": 0x8f,
    "M_STARTI": 0x90,
    "M_PCEVENT": 0x91,
    "M_UNHANGUP": 0x92,
}
MSG_FLAGS = {
    "MSGMARK": 0x01,
    "MSGNOLOOP": 0x02,
    "MSGDELIM": 0x04,
}
QUEUE_FLAGS = {
    "QENAB": 0x001,
    "QHLIST": 0x200,
    "QWANTR": 0x002,
    "QWANTW": 0x004,
    "QFULL": 0x008,
    "QNOENB": 0x040,
    "QPROCS": 0x800,
    "QWCLOSE": 0x1000,
}
BAND_FLAGS = {
    "QB_FULL": 0x01,
    "QB_WANTW": 0x02,
}
KINDS = {
    "QK_READ": 0x01,
    "QK_HEADR": 0x04,
    "QK_HEADW": 0x08,
    "QK_DEADEND": 0x20,
}
HEAD_STATES = {
    "SD_HUP": 0x01,
    "SD_BROKEN": 0x02,
    "SD_RDERR": 0x04,
    "SD_WRERR": 0x08,
    "SD_PLEX": 0x10,
    "SD_CLOSING": 0x20,
    "SD_NOWRITER": 0x40,
}
LIMITS = {
    "FD_INLINE": 64,
    "FD_CHUNK": 1024,
    "FD_CHUNKS": 1024,
    "NSLOT": 1024,
    "NPROC": 256,
    "SLOT_MEMBERS": 0xffff,
    "OWNER_DIED": 0x40000000,
}
TYPE_NAMES = {number: name for name, number in TYPES.items()}

# What reading garbage, a missing field or an absent value raises.
TROUBLE = (gdb.error, ValueError, OverflowError, TypeError)


# ---- reading -----------------------------------------------------------------


def flag_names(table, flags):
    """" QFULL QENAB", every one after a blank."""
    return "".join(" " + name for name, bit in table.items() if flags & bit)


def has_fields(type_, *names):
    """Is this our structure, not the program's own of the same name?"""
    have = {field.name for field in type_.fields()}
    return have.issuperset(names)


def address(pointer):
    return int(pointer) & (1 << 64) - 1


def chain(first, link, most=MOST_WALKED):
    """The elements of a list (pointers), and what is wrong with it or ''."""
    found, seen = [], set()
    pointer = first
    try:
        while address(pointer) != 0:
            if address(pointer) in seen:
                return found, "the list is a circle"
            if len(found) == most:
                return found, "the list goes on"
            pointer[link].fetch_lazy()
            seen.add(address(pointer))
            found.append(pointer)
            pointer = pointer[link]
    except TROUBLE as error:
        return found, "the list is broken: %s" % error
    return found, ""


def slot_text(owner):
    """Who a word names: a slot's number in the low bits, above it a life count."""
    return "slot %d" % (owner & LIMITS["NSLOT"] - 1)


def library_value(name):
    """A variable of the library, even if the program has one of that name."""
    for objfile in gdb.objfiles():
        if "libustreams" in (objfile.filename or ""):
            symbol = objfile.lookup_global_symbol(name)
            if symbol is not None:
                return symbol.value()
    symbol = gdb.lookup_global_symbol(name)
    if symbol is None:
        raise gdb.GdbError("no variable %s: is libustreams loaded, with debug information?" % name)
    return symbol.value()


def slot_root():
    root = library_value("slot_root")
    if address(root) == 0:
        raise gdb.GdbError("the program has not used the library yet")
    return root


# ---- messages ------------------------------------------------------------------


def quoted(start, size):
    """The first bytes as text, the rest as "..."."""
    data = gdb.selected_inferior().read_memory(start, min(size, MOST_TEXT)).tobytes()
    text = "".join(chr(c) if 32 <= c < 127 and c not in b'"\\' else "\\x%02x" % c for c in data)
    return '"%s"%s' % (text, "..." if size > MOST_TEXT else "")


def block_text(bp):
    """One block: type, bytes, what they are, and what is unusual about it."""
    dp = bp["b_datap"]
    kind = int(dp["db_type"])
    start, end = address(bp["b_rptr"]), address(bp["b_wptr"])
    base, limit = address(dp["db_base"]), address(dp["db_lim"])
    refs = int(dp["db_ref"])
    text = TYPE_NAMES.get(kind, "type 0x%02x" % kind)
    if base <= start <= end <= limit:
        text += " %d bytes" % (end - start)
        if end > start:
            text += " " + quoted(start, end - start)
    else:
        text += " (0x%x..0x%x outside the buffer 0x%x..0x%x)" % (start, end, base, limit)
    if int(bp["b_band"]) != 0:
        text += " band %d" % int(bp["b_band"])
    if refs == 0:
        text += " FREED"
        if int(bp["b_owner"]) != 0:
            text += " by " + slot_text(int(bp["b_owner"]))
    elif refs > 1:
        text += " ref %d" % refs
    return text + flag_names(MSG_FLAGS, int(bp["b_flag"]))


def message_text(mp):
    """A message: its blocks, joined by +."""
    blocks, trouble = chain(mp, "b_cont", MOST_BLOCKS)
    parts = []
    for bp in blocks:
        try:
            parts.append(block_text(bp))
        except TROUBLE as error:
            parts.append("<unreadable block: %s>" % error)
    if trouble:
        parts.append("<%s>" % trouble)
    return " + ".join(parts)


# ---- queues ---------------------------------------------------------------------


def queue_name(q):
    kind = int(q["q_kind"])
    if kind & KINDS["QK_DEADEND"]:
        return "dead end"
    if kind & (KINDS["QK_HEADR"] | KINDS["QK_HEADW"]):
        return "stream head"
    try:
        return q["q_qinfo"]["qi_minfo"]["mi_idname"].string(errors="replace", length=8).split("\0")[0]
    except TROUBLE:
        return "<no name>"


def queue_side(q):
    return "read" if int(q["q_kind"]) & KINDS["QK_READ"] else "write"


def queue_weight(q):
    """Bytes and blocks; a head's read queue counts what was put and what was got."""
    if int(q["q_kind"]) & KINDS["QK_HEADR"]:
        return (
            int(q["q_putb"]) - int(q["q_gotb"]),
            int(q["q_putn"]) - int(q["q_gotn"]),
        )
    return int(q["q_count"]), int(q["q_blocks"])


def queue_text(q):
    """Counts, limits and flags, as ustr_dump() writes them."""
    size, blocks = queue_weight(q)
    flags = int(q["q_flag"])
    if int(q["q_kind"]) & KINDS["QK_HEADR"]:
        # There the bits are snapshots of ustr_dump() and strqget().
        full = max(size, blocks) >= int(q["q_hiwat"])
        flags &= ~(QUEUE_FLAGS["QFULL"] | QUEUE_FLAGS["QWANTW"])
        flags |= QUEUE_FLAGS["QFULL"] if full else 0
        flags |= QUEUE_FLAGS["QWANTW"] if int(q["q_want"]) & 1 else 0
    text = "%6d bytes %5d blocks  hiwat %d lowat %d" % (
        size, blocks, int(q["q_hiwat"]), int(q["q_lowat"]))
    if int(q["q_pblocks"]) != 0:
        text += "  parked %d bytes %d blocks" % (int(q["q_pbytes"]), int(q["q_pblocks"]))
    return text + flag_names(QUEUE_FLAGS, flags)


def queue_line(q):
    return "%s %s: %s" % (queue_name(q), queue_side(q), " ".join(queue_text(q).split()))


def queue_bands(q):
    bands, trouble = chain(q["q_bandp"], "qb_next", int(q["q_nband"]))
    lines = []
    for number, qb in enumerate(bands, 1):
        if int(qb["qb_blocks"]) or int(qb["qb_flag"]):
            lines.append("    band %d: %d bytes %d blocks%s" % (
                number, int(qb["qb_count"]), int(qb["qb_blocks"]),
                flag_names(BAND_FLAGS, int(qb["qb_flag"]))))
    if trouble and len(bands) < int(q["q_nband"]):
        lines.append("    bands: <%s>" % trouble)
    return lines


def queue_list(title, first):
    """The messages of one of a queue's lists."""
    messages, trouble = chain(first, "b_next")
    lines = ["    %s0x%x %s" % (title, address(mp), message_text(mp))
             for mp in messages[:MOST_LISTED]]
    if len(messages) > MOST_LISTED:
        lines.append("    %s... and %d more" % (title, len(messages) - MOST_LISTED))
    if trouble:
        lines.append("    %s<%s>" % (title, trouble))
    return lines


def queue_messages(q):
    """First what the reader of a stream head has taken over, last what is parked."""
    lines = []
    if int(q["q_kind"]) & KINDS["QK_HEADR"]:
        lines += queue_list("", q["q_rfirst"])
    return lines + queue_list("", q["q_first"]) + queue_list("parked ", q["q_pfirst"])


# ---- streams -----------------------------------------------------------------------


def head_pair(wq, name):
    return [
        "  %s" % name,
        "    write %s" % queue_text(wq.dereference()),
        "    read  %s" % queue_text((wq - 1).dereference()),
    ]


def head_title(sd):
    pipe = address(sd["sd_reg"]) == 0
    name = "pipe" if pipe else sd["sd_reg"]["re_name"].string(errors="replace")
    text = "stream %d: %s, %d pushed, %d open" % (
        int(sd["sd_id"]), name, int(sd["sd_pushed"]), int(sd["sd_opens"]))
    if not pipe:
        text += ", minor %d" % int(sd["sd_minor"])
    return text + flag_names(HEAD_STATES, int(sd["sd_state"]))


def sleepers(sd, field_name, what):
    wq = sd[field_name]
    low, high = wq["wq_sleeper"].type.range()
    slots = [int(wq["wq_sleeper"][i]) for i in range(low, high + 1)]
    named = ", ".join(slot_text(slot) for slot in slots if slot != 0)
    if int(wq["wq_many"]):
        named += " and more"
    return ["  waiting to %s: %s" % (what, named)] if named else []


def stream_lines(sd):
    """The drawing of ustr_dump(): the head, what is below it, the other end."""
    lines = [head_title(sd)]
    try:
        top = sd["sd_rq"] + 1
        lines += head_pair(top, "stream head")
        # In use as far as the write queues belong to this stream; a FIFO turns round.
        below, trouble = chain(top["q_next"], "q_next", 256)
        for wq in below:
            if (address(wq["q_stream"]) != address(top["q_stream"])
                    or int(wq["q_kind"]) & KINDS["QK_READ"]):
                trouble = ""
                break
            lines += head_pair(wq, queue_name(wq))
        if trouble:
            lines.append("  <%s>" % trouble)
        lines += sleepers(sd, "sd_rwait", "read") + sleepers(sd, "sd_wwait", "write")
        if int(sd["sd_plumber"]):
            lines.append("  being replumbed by " + slot_text(int(sd["sd_plumber"])))
        if address(sd["sd_mate"]):
            lines.append("  ~ other end: stream %d" % int(sd["sd_mate"]["sd_id"]))
        elif address(sd["sd_reg"]) == 0:
            lines.append("  ~ other end: closed")
    except TROUBLE as error:
        lines.append("  <unreadable: %s>" % error)
    return lines


# ---- slots and groups ----------------------------------------------------------------


def table(entries, top, most):
    """The entries that there are, by number: slots or processes."""
    found = []
    for number in range(1, min(top, most)):
        entry = entries[number]
        if address(entry):
            found.append((number, entry))
    return found


def slots():
    root = slot_root()
    return table(root["sr_slot"], int(root["sr_top"]), LIMITS["NSLOT"])


def state_text(number, names):
    return names[number] if 0 <= number < len(names) else "state %d" % number


def slot_line(number, slot):
    states = ["free", "claimed", "live"]
    state = state_text(int(slot["sl_state"]), states)
    if state == "free":
        return ""
    if int(slot["sl_alive"]["__data"]["__lock"]) & LIMITS["OWNER_DIED"]:
        state = "dead"
    where = "outside"
    if address(slot["sl_home"]):
        where = "in group 0x%x" % address(slot["sl_home"])
    if address(slot["sl_visiting"]):
        where += ", visiting 0x%x" % address(slot["sl_visiting"])
    if int(slot["sl_sleep"]):
        where += ", asleep"
    if int(slot["sl_nheld"]):
        where += ", holds %d locks" % int(slot["sl_nheld"])
    return "  %4d  %-7s  process %d  thread %d  %s" % (
        number, state, int(slot["sl_proc"]), int(slot["sl_tid"]), where)


def process_line(number, proc):
    states = ["free", "embryo", "live", "dying"]
    state = state_text(int(proc["pr_state"]), states)
    if state == "free":
        return ""
    return "  %4d  %-7s  pid %d" % (number, state, int(proc["pr_pid"]))


def group_lines(group):
    run = group["g_run"]
    plumber = int(group["g_plumber"])
    lines = ["plumbing group, %s" % ("held by " + slot_text(plumber) if plumber else "no writer")]
    queues, trouble = chain(run["rq_first"], "q_link")
    for q in queues[:MOST_LISTED]:
        lines.append("  to be served: 0x%x %s" % (address(q), queue_line(q)))
    if len(queues) > MOST_LISTED:
        lines.append("  to be served: ... and %d more" % (len(queues) - MOST_LISTED))
    if trouble:
        lines.append("  to be served: <%s>" % trouble)
    here = address(group.address) if group.address is not None else 0
    try:
        for number, slot in slots() if here else []:
            if here in (address(slot["sl_home"]), address(slot["sl_visiting"])):
                lines.append("  inside: " + slot_text(number))
    except TROUBLE + (gdb.GdbError,):
        pass  # without the library's own variables there is no telling
    return lines


# ---- pretty-printers --------------------------------------------------------------------


class Printer:
    """One of our structures as text."""

    def __init__(self, value, text):
        self.value = value
        self.text = text

    def to_string(self):
        try:
            return self.text(self.value)
        except TROUBLE as error:
            return "<unreadable: %s>" % error


def message_of(value):
    # A copy without an address has no chain to follow beyond its first block.
    return block_text(value) if value.address is None else message_text(value.address)


# Tag, fields that tell it from the program's own, how it is written.
STRUCTURES = {
    "msgb": (("b_datap", "b_rptr", "b_cont"), message_of),
    "queue": (("q_qinfo", "q_kind", "q_stream"), queue_line),
    "stdata": (("sd_rq", "sd_state"), lambda sd: "\n".join(stream_lines(sd))),
    "group": (("g_run", "g_plumber"), lambda group: "\n".join(group_lines(group))),
}


class Printers(gdb.printing.PrettyPrinter):
    """What gdb asks for a printer of a value."""

    def __call__(self, value):
        type_ = value.type.strip_typedefs()
        if type_.code != gdb.TYPE_CODE_STRUCT or type_.tag not in STRUCTURES:
            return None
        fields, text = STRUCTURES[type_.tag]
        return Printer(value, text) if has_fields(type_, *fields) else None


# ---- commands -------------------------------------------------------------------------------


class Command(gdb.Command):
    """A command with one argument or none that prints lines."""

    argument = None  # what it takes, for the message

    def __init__(self):
        super().__init__(self.name, gdb.COMMAND_DATA,
                         gdb.COMPLETE_EXPRESSION if self.argument else gdb.COMPLETE_NONE)

    def invoke(self, argument, from_tty):
        if bool(argument.strip()) != bool(self.argument):
            raise gdb.GdbError("usage: %s %s" % (self.name, self.argument or ""))
        try:
            lines = self.lines(gdb.parse_and_eval(argument) if argument.strip() else None)
        except TROUBLE as error:
            raise gdb.GdbError("%s: %s" % (self.name, error))
        for line in lines:
            print(line)


class StreamCommand(Command):
    """ustr-stream FD: draw the stream of a descriptor of the program."""

    name = "ustr-stream"
    argument = "FD"

    def entry(self, fd):
        """The descriptor's entry in this process's table, or None."""
        wipe = library_value("slot_wipe")
        proc = wipe["w_proc"]
        if address(proc) == 0:
            raise gdb.GdbError("this process has no streams (it never used the library, "
                               "or was made by _Fork or clone)")
        if 0 <= fd < LIMITS["FD_INLINE"]:
            return proc["pr_fd0"][fd]
        if not 0 <= fd < LIMITS["FD_CHUNK"] * LIMITS["FD_CHUNKS"]:
            return None
        chunk = proc["pr_fd"][fd // LIMITS["FD_CHUNK"]]
        return chunk[fd % LIMITS["FD_CHUNK"]] if address(chunk) else None

    def lines(self, value):
        fd = int(value)
        entry = self.entry(fd)
        if entry is None or address(entry["fe_file"]) == 0:
            raise gdb.GdbError("descriptor %d is not a stream" % fd)
        file = entry["fe_file"]
        head = file["f_head"]
        title = "descriptor %d: group 0x%x, file 0x%x (%d references, flags 0%o), head 0x%x" % (
            fd, address(entry["fe_group"]), address(file), int(file["f_ref"]),
            int(file["f_flags"]), address(head))
        return [title] + stream_lines(head.dereference())


class QueuesCommand(Command):
    """ustr-queues ADDR: a queue and those ahead of it, with their messages.

ADDR is the address of a queue, or of a stream head for its write queue."""

    name = "ustr-queues"
    argument = "ADDR"

    def lines(self, value):
        queue_p = gdb.lookup_type("queue_t").pointer()
        type_ = value.type.strip_typedefs()
        if type_.code == gdb.TYPE_CODE_PTR and type_.target().strip_typedefs().tag == "stdata":
            value = value["sd_rq"] + 1
        queues, trouble = chain(value.cast(queue_p), "q_next", 256)
        lines = []
        for q in queues:
            try:
                lines.append("0x%x %s" % (address(q), queue_line(q)))
                lines += queue_bands(q) + queue_messages(q)
            except TROUBLE as error:
                lines.append("    <unreadable: %s>" % error)
        if trouble:
            lines.append("<%s>" % trouble)
        return lines


class SlotsCommand(Command):
    """ustr-slots: who takes part: processes and threads, and where they are."""

    name = "ustr-slots"

    def lines(self, value):
        root = slot_root()
        lines = ["processes: %d live, %d deaths noticed" % (
            int(root["sr_live"]) & LIMITS["SLOT_MEMBERS"], int(root["sr_deaths"]))]
        rows = [(process_line, row) for row in
                table(root["sr_proc"], int(root["sr_ptop"]), LIMITS["NPROC"])]
        rows += [(None, "threads:")] + [(slot_line, row) for row in slots()]
        for line, row in rows:
            try:
                lines.append(line(*row) if line else row)
            except TROUBLE as error:
                lines.append("  %4d  <unreadable: %s>" % (row[0], error))
        return [line for line in lines if line]


gdb.printing.register_pretty_printer(gdb.current_objfile(), Printers("ustreams"), replace=True)
for command in (StreamCommand, QueuesCommand, SlotsCommand):
    command()
