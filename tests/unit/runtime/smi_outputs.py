"""Outputs of ``npu-smi`` in the form that each family of chips has, with numbers of our own."""

# ruff: noqa: E501 - the tables are as wide as they are
from __future__ import annotations

CHIP_310 = """\
+--------------------------------------------------------------------------------------------------------+
| npu-smi 23.0.3                                   Version: 23.0.3                                       |
+-------------------------------+-----------------+------------------------------------------------------+
| NPU     Name                  | Health          | Power(W)     Temp(C)           Hugepages-Usage(page) |
| Chip    Device                | Bus-Id          | AICore(%)    Memory-Usage(MB)                        |
+===============================+=================+======================================================+
| 3       310                   | OK              | 11.5         57                4     / 960           |
| 0       7                     | 0000:3B:00.0    | 12           612  / 7680                             |
+===============================+=================+======================================================+
+-------------------------------+-----------------+------------------------------------------------------+
| NPU     Chip                  | Process id      | Process name             | Process memory(MB)        |
+===============================+=================+======================================================+
| No running processes found in NPU 3                                                                    |
+===============================+=================+======================================================+
"""

CHIP_310P = """\
+-------------------+-----------------+------------------------------------------------------+
| NPU     Name      | Health          | Power(W)     Temp(C)           Hugepages-Usage(page) |
| Chip    Device    | Bus-Id          | AICore(%)    Memory-Usage(MB)                        |
+===================+=================+======================================================+
| 0       310P3     | OK              | 16.2         44                0    / 0              |
| 0       0         | 0000:5E:00.0    | 3            1100 / 21500                            |
+===================+=================+======================================================+
| 5       310P3     | Warning         | 17.0         88                0    / 0              |
| 0       1         | 0000:86:00.0    | 0            19400/ 21500                            |
+===================+=================+======================================================+
"""

CHIP_310P_DUAL = """\
+--------------------------------------------------------------------------------------------------------+
| npu-smi 25.5.1                                   Version: 25.5.1                                       |
+-------------------------------+-----------------+------------------------------------------------------+
| NPU     Name                  | Health          | Power(W)     Temp(C)           Hugepages-Usage(page) |
| Chip    Device                | Bus-Id          | AICore(%)    Memory-Usage(MB)                        |
+===============================+=================+======================================================+
| 24      310P3                 | OK              | NA           50                0     / 0             |
| 0       0                     | 0000:17:00.0    | 0            1500 / 44000                            |
+-------------------------------+-----------------+------------------------------------------------------+
| 24      310P3                 | OK              | NA           47                0     / 0             |
| 1       1                     | 0000:17:00.0    | 9            1600 / 43500                            |
+===============================+=================+======================================================+
| 32768   310P3                 | Critical        | NA           NA                0     / 0             |
| 0       2                     | 0000:65:00.0    | 0            0    / 44000                            |
+===============================+=================+======================================================+
"""

CHIP_310B = """\
+--------------------------------------------------------------------------------------------------------+
| npu-smi 23.0.0                                   Version: 23.0.0                                       |
+-------------------------------+-----------------+------------------------------------------------------+
| NPU     Name                  | Health          | Power(W)     Temp(C)           Hugepages-Usage(page) |
| Chip    Device                | Bus-Id          | AICore(%)    Memory-Usage(MB)                        |
+===============================+=================+======================================================+
| 0       310B4                 | OK              | 8.4          55                15    / 15            |
| 0       0                     | NA              | 0            3100 / 7545                             |
+===============================+=================+======================================================+
"""

CHIP_910B = """\
+------------------------------------------------------------------------------------------------+
| npu-smi 25.3.rc1                 Version: 25.3.rc1                                             |
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 0     910B3               | OK            | 97.5        51                0    / 0             |
| 0                         | 0000:C4:00.0  | 37          0    / 0          5120 / 65536         |
+===========================+===============+====================================================+
| 1     910B3               | Alarm         | 99.0        49                0    / 0             |
| 0                         | 0000:C5:00.0  | 0           0    / 0          4096 / 65536         |
+===========================+===============+====================================================+
+---------------------------+---------------+----------------------------------------------------+
| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |
+===========================+===============+====================================================+
| 0       0                 | 4711          | python                   | 900                     |
+===========================+===============+====================================================+
"""

CHIP_A3 = """\
+------------------------------------------------------------------------------------------------+
| npu-smi 25.2.0                   Version: 25.2.0                                               |
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip  Phy-ID              | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 0     Ascend910           | OK            | 181.0       38                0    / 0             |
| 0     0                   | 0000:9D:00.0  | 0           0    / 0          3100 / 65536         |
+------------------------------------------------------------------------------------------------+
| 0     Ascend910           | OK            | -           37                0    / 0             |
| 1     1                   | 0000:9F:00.0  | 5           0    / 0          2900 / 65536         |
+===========================+===============+====================================================+
"""

CHIP_950 = """\
| npu-smi 26.1.0                   Version: 26.1.0          Mode: normal                         |
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)| Fan(%) |
| Chip                      | Bus-Id        | NPU Util(%) Memory-Usage(MB)  HBM-Usage(MB)        | Slot   |
+===========================+===============+====================================================+========+
| 2     Ascend950           | OK            | 210.0       41                0    / 0             | 30     |
|                           | 0000:0A:00.0  | 64          0    / 0          9000 / 131072        | 4      |
+===========================+===============+====================================================+========+
"""

OTHER_LANGUAGE = """\
| npu-smi 25.3.rc1                 版本：25.3.rc1                                                 |
| 编号  名称                | 健康          | 功率(W)     温度(C)           大页(页)             |
| 芯片                      | 总线          | 核(%)       内存(MB)          显存(MB)             |
+===========================+===============+====================================================+
| 0     910B3               | OK            | 97,5        51                0    / 0             |
| 0                         | 0000:C4:00.0  | 37          0    / 0          5120 / 65536         |
+===========================+===============+====================================================+
| 编号    芯片              | 进程          | 名称                     | 内存(MB)                |
| 0       0                 | 4711          | python                   | 900                     |
"""

USAGES_310B = """\
\tNPU ID                         : 0
\tChip Count                     : 1

\tChip ID                        : 0
\tMemory Capacity(MB)            : 7545
\tMemory Usage Rate(%)           : 41
\tHugepages Total(page)          : 15
\tHugepages Usage Rate(%)        : 100
\tAicore Usage Rate(%)           : 22
\tAicpu Usage Rate(%)            : 3
\tCtrlcpu Usage Rate(%)          : 4
\tMemory Bandwidth Usage Rate(%) : 5
"""

USAGES_310P_DUAL = """\
\tNPU ID                         : 24
\tChip Count                     : 2

\tChip ID                        : 0
\tDDR Capacity(MB)               : 44000
\tDDR Usage Rate(%)              : 3
\tDDR Hugepages Total(page)      : 0
\tDDR Hugepages Usage Rate(%)    : 0
\tAicore Usage Rate(%)           : 71
\tAicpu Usage Rate(%)            : 1
\tCtrlcpu Usage Rate(%)          : 2
\tVectorcore Usage Rate(%)       : 60
\tDDR Bandwidth Usage Rate(%)    : 15
\tDVPP VDEC Usage Rate(%)        : 0

\tChip ID                        : 1
\tDDR Capacity(MB)               : 43500
\tAicore Usage Rate(%)           : NA
"""

USAGES_910B = """\
\tNPU ID                         : 1
\tChip Count                     : 1

\tChip ID                        : 0
\tDDR Capacity(MB)               : 0
\tDDR Usage Rate(%)              : 0
\tDDR Hugepages Total(page)      : 0
\tDDR Hugepages Usage Rate(%)    : 0
\tHBM Capacity(MB)               : 65536
\tHBM Usage Rate(%)              : 88
\tAicore Usage Rate(%)           : 9
\tAivector Usage Rate(%)         : 7
\tAicpu Usage Rate(%)            : 0
\tCtrlcpu Usage Rate(%)          : 2
\tDDR Bandwidth Usage Rate(%)    : 0
\tHBM Bandwidth Usage Rate(%)    : 33
\tNPU Utilization(%)             : 12
\tAicube Usage Rate(%)           : 8
"""

COMMON_910B = """\
\tNPU ID                         : 1
\tChip Count                     : 1

\tChip ID                        : 0
\tMemory Usage Rate(%)           : 0
\tHBM Usage Rate(%)              : 88
\tAicore Usage Rate(%)           : 9
\tAicore Freq(MHZ)               : 1800
\tAicore curFreq(MHZ)            : 1650
\tAicore Count                   : 20
\tTemperature(C)                 : 48
\tNPU Real-time Power(W)         : 121.7

\tChip Name                      : mcu
\tTemperature(C)                 : 39
"""

COMMON_310P = """\
\tNPU ID                         : 0
\tChip Count                     : 1

\tChip ID                        : 0
\tMemory Usage Rate(%)           : 6
\tAicore Usage Rate(%)           : 0
\tAicore Freq(MHZ)               : 1080
\tAicore curFreq(MHZ)            : 960
\tTemperature(C)                 : 52

\tChip Name                      : mcu
\tTemperature(C)                 : 41
\tNPU Real-time Power(W)         : 23.4
"""

HEALTH = """\
\tHealth Status                  : Warning
\tError Code                     : 80E18005
\tError Information              : fan speed
"""

TEMP_SERVER = """\
\tNPU ID                         : 1
\tChip Count                     : 1

\tChip ID                        : 0
\tNPU Temperature (C)            : 54
"""

MEMORY_910B = """\
\tNPU ID                         : 1
\tChip Count                     : 1

\tChip ID                        : 0
\tTotal DDR Capacity(MB)         : 0
\tDDR Capacity(MB)               : 0
\tDDR Clock Speed(MHz)           : 0
\tHBM Capacity(MB)               : 65536
\tHBM Clock Speed(MHz)           : 1600
\tHBM Temperature(C)             : 47
\tHBM Manufacturer ID            : 0x56
"""

MEMORY_310 = """\
\tNPU ID                         : 3
\tChip Count                     : 1

\tChip ID                        : 0
\tTotal Capacity(MB)             : 8192
\tCapacity(MB)                   : 7680
\tClock Speed(MHz)               : 1600
"""

BOARD_A3 = """\
\tNPU ID                         : 0
\tProduct Name                   : Example
\tSoftware Version               : 25.2.0
\tFirmware Version               : 7.7.0.6.236
\tChip Name                      : Ascend910
\tNPU Name                       : 9362
\tPCIe Bus Info                  : 0000:9D:00.0
"""
