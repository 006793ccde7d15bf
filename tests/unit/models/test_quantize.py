"""Eight-bit weights: which operators get them, how exact they are, and what runs them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from asr_core.errors import UsageError
from asr_core.models.onnx_file import weights_bytes, write_onnx
from asr_core.models.quantize import (
    Method,
    Operator,
    is_kept,
    operators_of,
    quantize,
    unknown_names,
    weight_error,
)
from asr_core.runtime.onnx import OnnxSession

WIDTH, INNER = 70, 40
"""Neither is a multiple of a block."""


def model(weights: dict[str, np.ndarray] | None = None) -> onnx.ModelProto:
    """x · a · b + (x · a) · c, and a product of two computed values."""
    random = np.random.default_rng(0)
    values = weights or {
        "g.part.a.weight": random.normal(size=(WIDTH, INNER)).astype(np.float32),
        "g.part.b.weight": random.normal(size=(INNER, INNER)).astype(np.float32),
        "g.c.weight": random.normal(size=(INNER, INNER)).astype(np.float32),
    }
    nodes = [
        helper.make_node("MatMul", ["x", "g.part.a.weight"], ["h"], "first"),
        helper.make_node("MatMul", ["h", "g.part.b.weight"], ["b"], "second"),
        helper.make_node("MatMul", ["h", "g.c.weight"], ["c"], "third"),
        helper.make_node("Add", ["b", "c"], ["sum"]),
        helper.make_node("Transpose", ["sum"], ["turned"], perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", ["turned", "sum"], ["y"], "attention"),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 1, "t", WIDTH])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 1, INNER, INNER])],
        [numpy_helper.from_array(array, name) for name, array in values.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=8)


def one_product(matrix: np.ndarray) -> onnx.ModelProto:
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1, "t", width])
        for name, width in zip("xy", matrix.shape, strict=True)
    )
    node = helper.make_node("MatMul", ["x", "g.a.weight"], ["y"])
    graph = helper.make_graph(
        [node], "g", [x], [y], [numpy_helper.from_array(matrix, "g.a.weight")]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=8)


def run(made: onnx.ModelProto, folder: Path, x: np.ndarray) -> np.ndarray:
    # Writing takes the weights out of a model.
    write_onnx(onnx.ModelProto.FromString(made.SerializeToString()), folder / "g.onnx")
    return OnnxSession(folder / "g.onnx", threads=1).run({"x": x})["y"]


def test_operators_are_products_with_a_matrix() -> None:
    assert operators_of(model()) == (
        Operator("g.part.a", WIDTH, INNER),
        Operator("g.part.b", INNER, INNER),
        Operator("g.c", INNER, INNER),
    )


@pytest.mark.parametrize("method", Method)
def test_results_hardly_change_and_weights_shrink(tmp_path: Path, method: Method) -> None:
    x = np.random.default_rng(1).normal(size=(2, 1, 5, WIDTH)).astype(np.float32)
    exact = run(model(), tmp_path, x)
    made = model()
    assert quantize(made, [], method) == ()
    assert operators_of(made) == ()
    assert weights_bytes(made) < 0.5 * weights_bytes(model())
    found = run(made, tmp_path, x)
    assert np.abs(found - exact).max() <= 0.05 * np.abs(exact).max()


@pytest.mark.parametrize("method", Method)
@pytest.mark.parametrize(
    ("kept", "left"),
    [
        (["g.part"], ("g.part.a", "g.part.b")),
        (["g.part.b", "g.c"], ("g.part.b", "g.c")),
        (["g"], ("g.part.a", "g.part.b", "g.c")),
        (["g.par", "part"], ()),
    ],
)
def test_parts_stay_in_single_precision(
    tmp_path: Path, method: Method, kept: list[str], left: tuple[str, ...]
) -> None:
    made = model()
    assert quantize(made, kept, method) == left
    assert tuple(each.name for each in operators_of(made)) == left
    x = np.ones((1, 1, 3, WIDTH), np.float32)
    exact = run(model(), tmp_path, x)
    found = run(made, tmp_path, x)
    if left == ("g.part.a", "g.part.b", "g.c"):
        assert np.array_equal(found, exact)
    assert np.abs(found - exact).max() <= 0.05 * np.abs(exact).max()


def test_products_of_one_input_share_its_numbers() -> None:
    made = model()
    quantize(made, [])
    kinds = [node.op_type for node in made.graph.node]
    assert kinds.count("DynamicQuantizeLinear") == 2
    assert kinds.count("MatMulInteger") == 3


def test_blocks_do_not_depend_on_other_places(tmp_path: Path) -> None:
    made = model()
    quantize(made, [], Method.BLOCKS)
    x = np.random.default_rng(2).normal(size=(2, 1, 4, WIDTH)).astype(np.float32)
    x[1] *= 100
    together = run(made, tmp_path, x)
    alone = run(made, tmp_path, x[:1])
    assert np.abs(together[:1] - alone).max() <= 1e-5 * np.abs(alone).max()


def test_names_that_are_none_are_found() -> None:
    operators = operators_of(model())
    assert unknown_names(operators, ["g", "g.c", "g.part", "g.d", "g.par"]) == ("g.d", "g.par")
    assert is_kept("g.part.a", ["g.part"])
    assert not is_kept("g.part.a", ["g.part.a.b", "g.pa"])


def test_weights_that_lie_elsewhere_are_refused(tmp_path: Path) -> None:
    write_onnx(model(), tmp_path / "g.onnx", apart=True)
    bare = onnx.load(tmp_path / "g.onnx", load_external_data=False)
    with pytest.raises(UsageError, match=r"g\.part\.a"):
        quantize(bare, [])


MATRICES = st.builds(
    lambda seed, rows, columns, scale: (
        np.random.default_rng(seed).normal(size=(rows, columns)) * 10.0**scale
    ).astype(np.float32),
    st.integers(0, 1000),
    st.integers(1, 80),
    st.integers(1, 20),
    st.integers(-6, 6),
)


@given(matrix=MATRICES, method=st.sampled_from(Method))
def test_weights_of_any_size_are_close(matrix: np.ndarray, method: Method) -> None:
    assert weight_error(matrix, method) <= (0.02 if method is Method.PAIRS else 0.01)


@given(matrix=MATRICES)
def test_signed_products_of_two_inputs_fit_in_sixteen_bits(matrix: np.ndarray) -> None:
    made = one_product(matrix)
    quantize(made, [])
    numbers = next(
        numpy_helper.to_array(tensor).astype(np.int32)
        for tensor in made.graph.initializer
        if tensor.name.endswith("_quantized")
    )
    even = len(numbers) - len(numbers) % 2
    pairs = np.abs(numbers[:even:2]) + np.abs(numbers[1:even:2])
    assert 255 * pairs.max(initial=0) < 2**15
    assert np.abs(numbers).max() >= 63


def test_the_largest_inputs_give_exact_signed_products(tmp_path: Path) -> None:
    matrix = np.tile(np.array([[1.0], [1.0]], np.float32), (40, 3))
    made = one_product(matrix)
    quantize(made, [])
    # The first input is the smallest one, so that all others become 255.
    x = np.full((1, 1, 2, 80), 1.0, np.float32)
    x[..., 0] = 0.0
    assert run(made, tmp_path, x) == pytest.approx(x @ matrix, rel=0.01)


@pytest.mark.parametrize("method", Method)
def test_a_column_of_zeros_stays_zero(tmp_path: Path, method: Method) -> None:
    weights = {
        "g.part.a.weight": np.zeros((WIDTH, INNER), np.float32),
        "g.part.b.weight": np.zeros((INNER, INNER), np.float32),
        "g.c.weight": np.ones((INNER, INNER), np.float32),
    }
    made = model(weights)
    quantize(made, [], method)
    assert not run(made, tmp_path, np.ones((1, 1, 2, WIDTH), np.float32)).any()
    assert weight_error(weights["g.part.a.weight"], method) == 0.0


def test_large_graphs_keep_their_weights_beside_them(tmp_path: Path) -> None:
    path = tmp_path / "g.onnx"
    x = np.random.default_rng(3).normal(size=(1, 1, 5, WIDTH)).astype(np.float32)
    exact = run(model(), tmp_path, x)
    assert write_onnx(model(), path) is None
    whole = path.stat().st_size
    limit = weights_bytes(model()) - 1
    assert write_onnx(model(), path, largest_bytes=limit) == tmp_path / "g.weights"
    assert path.stat().st_size + weights_bytes(model()) < whole + 2000
    assert path.stat().st_size < 2000
    found = OnnxSession(path, threads=1).run({"x": x})["y"]
    assert np.array_equal(found, exact)
    # Written again in one piece, nothing of the other form stays.
    assert write_onnx(model(), path) is None
    assert not (tmp_path / "g.weights").exists()


def test_a_file_is_what_the_package_writes(tmp_path: Path) -> None:
    whole = model()
    whole.producer_name = "tinglu"
    whole.metadata_props.add(key="a", value="b")
    assert (
        write_onnx(onnx.ModelProto.FromString(whole.SerializeToString()), tmp_path / "g.onnx")
        is None
    )
    assert onnx.load(tmp_path / "g.onnx") == whole
    onnx.checker.check_model(str(tmp_path / "g.onnx"))


def test_a_graph_that_is_none_is_not_written(tmp_path: Path) -> None:
    broken = model()
    broken.graph.node[0].input[1] = "nothing"
    with pytest.raises(onnx.checker.ValidationError, match="nothing"):
        write_onnx(broken, tmp_path / "g.onnx")
    assert not (tmp_path / "g.onnx").exists()
