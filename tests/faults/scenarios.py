# SPDX-License-Identifier: BSD-3-Clause
"""Commands run with failing calls: each scenario is a prepared directory and a command in it."""

import os
import shutil
import struct
import subprocess
from dataclasses import dataclass

import recording_frames
import recording_reader as reader
from recording_frames import EARLIER

@dataclass
class Scenario:
    name: str
    args: str  # arguments of tapline; {in} and {more} are inputs
    before: str = ""  # arguments of an earlier tapline that made the existing files
    leave: bool = False  # the youngest of these files was not completed
    room: bool = False  # and has zeros behind its end, from a sector on: preallocated space, or lost bytes
    damaged: bool = False  # the only file has two slabs that cannot be read
    headless: bool = False  # the youngest file does not begin like a capture, and has an index
    keep_files: int = 0
    synced: bool = True  # with --fsync close
    held: bool = False  # files removed by the ring have expired
    suffix: str = ".pcapng"
    control: tuple = ()  # verbs sent by a client before it ends the run
    kind: str = "capture"
    results: tuple = ()  # of kind report: members of the report that are the same whenever the status is

    @property
    def publishes(self):
        """Check whether a name without .part means a complete file."""
        return "--rotate" in self.args or "trigger" in self.args

    @property
    def status(self):
        """Exit status without a fault."""
        return 1 if self.damaged or self.headless else 0


_REPLAYED = ("read_pkts", "sent_pkts", "skipped_pkts", "refused_pkts", "hw_sent_pkts")
_RING = "--keep-files 3 --fsync close"
SCENARIOS = [
    Scenario("plain", "capture -i pcap:{in} -w r.pcapng --index --fsync close"),
    Scenario("rotate", "capture -i pcap:{in} -w r.pcapng --rotate-packets 700 --fsync close"),
    Scenario("ring", f"capture -i pcap:{{in}} -w r.pcapng --rotate-packets 700 {_RING}",
             f"capture -i pcap:{{earlier}} -w r.pcapng --rotate-packets 700 {_RING}", leave=True, keep_files=3),
    Scenario("reuse", f"capture -i pcap:{{more}} -w r.pcapng --rotate 4M {_RING}",
             f"capture -i pcap:{{earlier_more}} -w r.pcapng --rotate 4M {_RING}", keep_files=3),
    Scenario("trigger", "capture -i pcap:{in} -w r.pcapng --mode trigger --pre-seconds 5 --post-seconds 1 --trigger "
             "ip[4:2]=1500 --fsync close"),
    Scenario("save", "capture -i pcap:{in} -w r.pcapng --mode trigger --store files --rotate-packets 700 --pre-seconds 0 "
             f"--post-seconds 0 --trigger ip[4:2]=1500 {_RING}", keep_files=3, held=True),
    Scenario("time", "capture -i pcap:{in} -w r.pcapng --order time --rotate-packets 700 --fsync close"),
    Scenario("pcap-ns", "capture -i pcap:{in} -w r.pcap --format pcap-ns --rotate-packets 700 --fsync close", suffix=".pcap"),
    Scenario("zstd", "capture -i pcap:{in} -w r.pcapng.zst --compress zstd --rotate-packets 700 --fsync close",
             suffix=".zst"),
    Scenario("pwrite", f"capture -i pcap:{{more}} -w r.pcapng --io pwrite --rotate 4M {_RING}",
             f"capture -i pcap:{{earlier_more}} -w r.pcapng --rotate 4M {_RING}", keep_files=3),
    Scenario("control", "capture -i lo -w r.pcapng --mode trigger --pre-seconds 2 --post-seconds 1 "
             "--control c.sock --fsync close", control=("status", "trigger", "pause", "resume", "rotate", "nonsense")),
    Scenario("recover", "recover . --json", "capture -i pcap:{earlier} -w r.pcapng --rotate-packets 700", leave=True,
             synced=False, kind="recover"),
    Scenario("recover-zstd", "recover . --json", "capture -i pcap:{earlier} -w r.pcapng.zst --compress zstd --rotate-packets 700",
             leave=True, room=True, synced=False, suffix=".zst", kind="recover"),
    Scenario("recover-pcap", "recover . --json", "capture -i pcap:{earlier} -w r.pcap --format pcap-ns --rotate-packets 700",
             leave=True, room=True, synced=False, suffix=".pcap", kind="recover"),
    Scenario("extract", "extract . -w out.pcapng --json udp", "capture -i pcap:{earlier} -w r.pcapng --rotate-packets 700",
             synced=False, kind="extract"),
    Scenario("extract-zstd", "extract . -w out.pcapng --json udp",
             "capture -i pcap:{earlier} -w r.pcapng.zst --compress zstd --rotate-packets 700", synced=False, suffix=".zst",
             kind="extract"),
    Scenario("extract-pcap", "extract . -w out.pcapng --json udp",
             "capture -i pcap:{earlier} -w r.pcap --format pcap-ns --rotate-packets 700", synced=False, suffix=".pcap",
             kind="extract"),
    Scenario("damaged", "extract . -w out.pcapng --json udp", "capture -i pcap:{earlier_more} -w r.pcapng --rotate 20M",
             damaged=True, synced=False, kind="extract"),
    Scenario("damaged-zstd", "extract . -w out.pcapng --json udp",
             "capture -i pcap:{earlier_more} -w r.pcapng.zst --compress zstd --rotate 20M", damaged=True, synced=False,
             suffix=".zst", kind="extract"),
    Scenario("headless", "extract . -w out.pcapng --json udp", "capture -i pcap:{earlier} -w r.pcapng --rotate-packets 700",
             headless=True, synced=False, kind="extract"),
    Scenario("reindex", "extract . --reindex --json", "capture -i pcap:{earlier} -w r.pcapng --rotate-packets 700",
             synced=False, kind="reindex"),
    Scenario("reindex-zstd", "extract . --reindex --json",
             "capture -i pcap:{earlier} -w r.pcapng.zst --compress zstd --rotate-packets 700", synced=False, suffix=".zst",
             kind="reindex"),
    Scenario("verify", "verify . --json", "capture -i pcap:{earlier} -w r.pcapng --rotate-packets 700 --digest crc32c",
             kind="report", results=("good", "files")),
    Scenario("replay", "replay . -i vdev:net_null0 --line-rate --json", "capture -i pcap:{earlier} -w r.pcapng --rotate-packets 700",
             kind="report", results=_REPLAYED),
    Scenario("replay-zstd", "replay . -i vdev:net_null0 --line-rate --json",
             "capture -i pcap:{earlier} -w r.pcapng.zst --compress zstd --rotate-packets 700", suffix=".zst", kind="report",
             results=_REPLAYED),
    Scenario("meter", "meter r.pcapng --cir 1Mbit --cbs 20000 --json --html out.html", "capture -i pcap:{earlier} -w r.pcapng",
             kind="report", results=("pkts", "green_pkts", "red_pkts", "red_bytes", "damages", "settings")),
    Scenario("latency", "latency r.pcapng --trigger udp[8:4]<16778000 --reply udp[8:4]<16778000 --json --csv out.csv --html out.html",
             "capture -i pcap:{earlier} -w r.pcapng", kind="report",
             results=("matched", "triggers", "answered", "unmatched_triggers", "ambiguous")),
]
_HEAD = struct.pack("<II", reader.HEAD, 64)  # first bytes of a HEAD; of a slab, it is at the begin of a page, or of a frame there
_JUNK = b"\xee" * 4096  # longer than any frame: it covers the lengths of a block


class Stage:
    """The inputs, and each scenario's prepared directory, made once."""

    def __init__(self, root, tapline):
        self.root, self.tapline = root, tapline
        self.readable = {}  # of a scenario with a damaged file: the number of frames that can be read
        self.inputs = {"in": (2000, 700, 0), "more": (6500, 1400, 0), "earlier": (2000, 700, EARLIER),
                       "earlier_more": (8500, 1400, EARLIER)}
        self.paths = {name: os.path.join(root, name + ".pcap") for name in self.inputs}
        for name, (count, size, first) in self.inputs.items():
            recording_frames.make_input(self.paths[name], count, size, first)

    def command(self, args):
        words = [word.format(**self.paths) for word in args.split()]
        return [self.tapline] + words + (["--json", "--buffer", "8M"] if words[0] == "capture" else [])

    def template(self, scenario):
        path = os.path.join(self.root, "before-" + scenario.name)
        if os.path.isdir(path):
            return path
        os.mkdir(path)
        if scenario.before:
            subprocess.run(self.command(scenario.before), cwd=path, check=True, capture_output=True)
        if scenario.leave:
            self._leave(path, scenario)
        if scenario.damaged:
            self.readable[scenario.name] = self._damage(self._youngest(path, scenario))
        if scenario.headless:
            self.readable[scenario.name] = self._behead(path, scenario)
        return path

    @staticmethod
    def _youngest(path, scenario):
        names = [name for name in os.listdir(path) if name.endswith(scenario.suffix)]
        return os.path.join(path, max(names, key=lambda name: (len(name), name)))

    @staticmethod
    def _damage(path):
        """Damage the content of the second slab, and the HEAD of the fourth. Return the number of frames in the others."""
        frames = len(reader.read(path))
        with open(path, "r+b") as file:
            data = file.read()
            heads = [at for page in range(0, len(data), 4096) for at in (page, page + 8) if data.startswith(_HEAD, at)]
            slabs = [(at, struct.unpack_from("<I", data, at + 40)[0]) for at in heads]
            (second, lost), (third, _), (fourth, lost_too) = slabs[1:4]
            for at, junk in (((second + third) // 2, _JUNK), (fourth, _JUNK[:64])):
                file.seek(at)
                file.write(junk)
        return frames - lost - lost_too

    @staticmethod
    def _behead(path, scenario):
        """Damage the first bytes of the youngest file. Return the number of frames in the others."""
        youngest = Stage._youngest(path, scenario)
        with open(youngest, "r+b") as file:
            file.write(_JUNK[:4])
        others = [os.path.join(path, name) for name in os.listdir(path) if name.endswith(scenario.suffix)]
        return sum(len(reader.read(other)) for other in others if other != youngest)

    @staticmethod
    def _leave(path, scenario):
        """Truncate the youngest file, and rename it to an incomplete one."""
        full = Stage._youngest(path, scenario)
        os.truncate(full, (os.path.getsize(full) - 4096) // 512 * 512)
        if scenario.room:
            os.truncate(full, os.path.getsize(full) + 65536)
        if os.path.exists(full + ".tlx"):
            os.unlink(full + ".tlx")
        os.rename(full, full + ".part")

    def fresh(self, scenario, path):
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(self.template(scenario), path)
