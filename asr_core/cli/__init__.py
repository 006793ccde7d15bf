"""The command line: ``python -m asr_core transcribe | batch | models | evaluate | itn | punctuate``.

Exit codes: 0 everything worked, 1 some inputs failed or were cancelled, 2 the call was wrong.
Results go to standard output, everything else to standard error.
"""

from asr_core.cli.main import main

__all__ = ["main"]
