"""SIMULATION: data buffers and tensor descriptions."""

from __future__ import annotations

from dataclasses import dataclass

from .machine import CallError, Machine, call, getter

ITEM_BYTES = {0: 4, 1: 2, 2: 1, 3: 4, 4: 1, 6: 2, 7: 2, 8: 4, 9: 8, 10: 8, 11: 8, 12: 1}


@dataclass(eq=False)
class DataBuffer:
    address: int
    size: int


@dataclass(eq=False)
class TensorDesc:
    dtype: int
    dims: list[int]
    default: bool = False
    """It belongs to a dataset that describes its outputs; nobody else may destroy it."""


@getter("acl.create_data_buffer", 0)
def create_data_buffer(here: Machine, address: int, size: int) -> int:
    return here.add(DataBuffer(address, size))


@call("acl.destroy_data_buffer")
def destroy_data_buffer(here: Machine, buffer: int) -> None:
    here.drop(buffer, DataBuffer)


@call("acl.update_data_buffer")
def update_data_buffer(here: Machine, buffer: int, address: int, size: int) -> None:
    found = here.get(buffer, DataBuffer)
    found.address, found.size = address, size


@getter("acl.get_data_buffer_addr", 0)
def get_data_buffer_addr(here: Machine, buffer: int) -> int:
    return int(here.get(buffer, DataBuffer).address)


@getter("acl.get_data_buffer_size_v2", 0)
def get_data_buffer_size_v2(here: Machine, buffer: int) -> int:
    return int(here.get(buffer, DataBuffer).size)


@getter("acl.get_data_buffer_size", 0)
def get_data_buffer_size(here: Machine, buffer: int) -> int:
    """The deprecated form: 32 bits."""
    return int(here.get(buffer, DataBuffer).size) & 0xFFFF_FFFF


@getter("acl.create_tensor_desc", 0)
def create_tensor_desc(here: Machine, dtype: int, dims: list[int], _format: int) -> int:
    if any(type(size) is not int for size in dims):
        raise TypeError("dims has to be a list of int")
    return here.add(TensorDesc(dtype, list(dims)))


@getter("acl.destroy_tensor_desc", None)
def destroy_tensor_desc(here: Machine, desc: int) -> None:
    """The one function that has neither a value nor a return code."""
    if here.get(desc, TensorDesc).default:
        here.violate("a tensor description that belongs to a dataset was destroyed")
        raise CallError(100000, "the description belongs to a dataset")
    here.drop(desc, TensorDesc)


@getter("acl.get_tensor_desc_num_dims", 0)
def get_tensor_desc_num_dims(here: Machine, desc: int) -> int:
    return len(here.get(desc, TensorDesc).dims)


@call("acl.get_tensor_desc_dim_v2", 0)
def get_tensor_desc_dim_v2(here: Machine, desc: int, index: int) -> int:
    dims = here.get(desc, TensorDesc).dims
    if not 0 <= index < len(dims):
        raise CallError(100000, "no such axis")
    return int(dims[index])


@getter("acl.get_tensor_desc_dim", -1)
def get_tensor_desc_dim(here: Machine, desc: int, index: int) -> int:
    """The deprecated form: no return code."""
    return int(here.get(desc, TensorDesc).dims[index])


@getter("acl.get_tensor_desc_size", 0)
def get_tensor_desc_size(here: Machine, desc: int) -> int:
    found = here.get(desc, TensorDesc)
    size = ITEM_BYTES[found.dtype]
    for axis in found.dims:
        size *= axis
    return size
