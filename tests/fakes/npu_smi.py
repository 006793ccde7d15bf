"""SIMULATION: ``npu-smi`` as documented: what it takes, and what it refuses.

Cards are named by ``-i``, without which most reports are refused; ``-c`` names a chip of the card,
which the newest family does not know. ``-t health`` is one line for a card and three for a chip.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from asr_core.runtime.command import Answer


class SimulatedNpuSmi:
    """Runs in the place of the command; implements :data:`asr_core.runtime.command.Run`.

    Args:
        table: of ``npu-smi info``.
        reports: texts by kind and card; what is not here is refused.
        faults: of ``-t health`` by card and chip: status, code and words.
        takes_chips: whether ``-c`` is known.
        hangs: kinds of reports that give no answer.

    Attributes:
        asked: what followed ``npu-smi info``, in order.
    """

    def __init__(
        self,
        table: str,
        reports: Mapping[tuple[str, int], str] | None = None,
        faults: Mapping[tuple[int, int], tuple[str, str, str]] | None = None,
        *,
        takes_chips: bool = True,
        hangs: Sequence[str] = (),
    ) -> None:
        self.table = table
        self.asked: list[str] = []
        self._reports = dict(reports or {})
        self._faults = dict(faults or {})
        self._takes_chips = takes_chips
        self._hangs = hangs

    def __call__(self, arguments: Sequence[str], _timeout_s: float) -> Answer:
        program, command, *rest = arguments
        if (program, command) != ("npu-smi", "info"):
            return Answer("failed", "Error parameter of command")
        self.asked.append(" ".join(rest))
        if not rest:
            return Answer("done", self.table)
        given = dict(zip(rest[::2], rest[1::2], strict=True))
        if set(given) - {"-t", "-i", "-c"} or "-t" not in given:
            return Answer("failed", "Error parameter of command")
        if "-i" not in given:
            return Answer("failed", "This command must input card id.")
        if given["-t"] in self._hangs:
            return Answer("timeout")
        if "-c" in given and not self._takes_chips:
            return Answer("failed", "Error parameter of -c")
        card = int(given["-i"])
        if given["-t"] == "health":
            return self._health(card, int(given["-c"]) if "-c" in given else None)
        text = self._reports.get((given["-t"], card))
        return (
            Answer("failed", "The type is not supported") if text is None else Answer("done", text)
        )

    def _health(self, card: int, chip: int | None) -> Answer:
        of_card = {at: fault for at, fault in self._faults.items() if at[0] == card}
        if chip is None:
            status = next((fault[0] for fault in of_card.values()), "OK")
            return Answer("done", line("Health", status))
        names = ("Health Status", "Error Code", "Error Information")
        values = of_card.get((card, chip), ("OK", "NA", "NA"))
        return Answer("done", "".join(map(line, names, values)))


def line(key: str, value: str) -> str:
    """One line of a report."""
    return f"\t{key:<30} : {value}\n"
