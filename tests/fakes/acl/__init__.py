"""A SIMULATION of pyACL, the Python interface of Ascend devices. No device is behind it.

It has the call signatures and keeps the documented rules of pyACL; where the documents are silent
it takes the strict reading. Its "OM" files (:mod:`.om`) hold an ONNX graph that ONNX Runtime
executes on the CPU. Tests put it in the place of ``acl`` and control it through
:func:`.machine.start`, which begins a new machine of devices, memory and faults.
"""

from __future__ import annotations

from . import mdl, rt, util
from .data import (
    create_data_buffer,
    create_tensor_desc,
    destroy_data_buffer,
    destroy_tensor_desc,
    get_data_buffer_addr,
    get_data_buffer_size,
    get_data_buffer_size_v2,
    get_tensor_desc_dim,
    get_tensor_desc_dim_v2,
    get_tensor_desc_num_dims,
    get_tensor_desc_size,
    update_data_buffer,
)
from .process import finalize, get_recent_err_msg, get_soc_name, init

__all__ = [
    "create_data_buffer",
    "create_tensor_desc",
    "destroy_data_buffer",
    "destroy_tensor_desc",
    "finalize",
    "get_data_buffer_addr",
    "get_data_buffer_size",
    "get_data_buffer_size_v2",
    "get_recent_err_msg",
    "get_soc_name",
    "get_tensor_desc_dim",
    "get_tensor_desc_dim_v2",
    "get_tensor_desc_num_dims",
    "get_tensor_desc_size",
    "init",
    "mdl",
    "rt",
    "update_data_buffer",
    "util",
]
