"""The command line: transcribe, batch, models, evaluate, and the filters itn and punctuate.

Exit codes: 0 everything worked, 1 some inputs failed or were cancelled, 2 the call was wrong.
Results go to standard output, everything else to standard error.
"""

from asr_core.cli.main import main

__all__ = ["main"]
