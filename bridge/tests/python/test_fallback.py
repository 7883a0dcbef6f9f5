# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Operators that run on the CPU for the device: what they must not lose on the way."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import torch

if TYPE_CHECKING:
    from torch_tbk import DeviceModule


@pytest.fixture(autouse=True)
def forgets(backend: DeviceModule) -> Iterator[None]:
    """Each test counts from nothing, and leaves the mode as it was."""
    mode = backend.get_fallback_mode()
    backend.reset_fallbacks()
    yield
    backend.set_fallback_mode(mode)


@pytest.fixture(scope="module")
def operators() -> Iterator[Any]:
    """Operators that no backend can have; some have a kernel for the CPU."""
    library = torch.library.Library("tbk_fallback_test", "DEF")
    library.define("see(Tensor(a) x) -> Tensor(a)")
    library.define("nowhere(Tensor x) -> Tensor")
    library.define("maybe(Tensor? x, Tensor?[] more) -> Tensor")
    library.define("twice_(Tensor(a!)[] all) -> ()")
    library.impl("see", lambda x: x.view(-1), "CPU")
    library.impl("maybe", lambda x, more: sum(t for t in [x, *more] if t is not None), "CPU")
    library.impl("twice_", lambda tensors: [t.mul_(2) for t in tensors] and None, "CPU")
    yield torch.ops.tbk_fallback_test
    library._destroy()


def names(backend: DeviceModule) -> set[str]:
    return {each.operator for each in backend.fallbacks()}


# Which nobody has on a device, with an output and a gradient.
polygamma: Callable[..., torch.Tensor] = partial(torch.polygamma, 2)


def rising(*sizes: int) -> torch.Tensor:
    return torch.arange(1.0, torch.Size(sizes).numel() + 1).reshape(sizes)


def test_calls_are_counted_for_each_device(backend: DeviceModule, device: torch.device) -> None:
    x = rising(4).to(device)
    for _ in range(3):
        polygamma(x)
    counts = {(each.operator, each.device): each.count for each in backend.fallbacks()}
    assert counts == {("aten::polygamma", device.index): 3}
    backend.reset_fallbacks()
    assert list(backend.fallbacks()) == []


def test_another_device_counts_for_itself(
    backend: DeviceModule, device: torch.device, other_device: torch.device
) -> None:
    polygamma(rising(4).to(other_device))
    assert {each.device for each in backend.fallbacks()} == {other_device.index}


def test_a_warning_comes_once(backend: DeviceModule, device: torch.device) -> None:
    x = rising(4).to(device)
    backend.set_fallback_mode("warn")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.special.airy_ai(x)
        torch.special.airy_ai(x)
    said = [str(each.message) for each in caught if "special_airy_ai" in str(each.message)]
    assert len(said) == 1
    assert backend.backend_name in said[0]


def test_a_fallback_can_be_refused(backend: DeviceModule, device: torch.device) -> None:
    x = rising(4).to(device)
    backend.set_fallback_mode("error")
    with pytest.raises(NotImplementedError, match=r"aten::polygamma.*switched off"):
        polygamma(x)
    assert list(backend.fallbacks()) == []
    backend.set_fallback_mode("silent")
    torch.testing.assert_close(polygamma(x).cpu(), polygamma(rising(4)))


def test_the_environment_chooses_the_mode(
    child: Callable[..., str], library: Any, backend_options: str
) -> None:
    program = """
import sys, torch, torch_tbk
backend = torch_tbk.load(sys.argv[1], options=sys.argv[2])
x = torch.zeros(2, device=backend.backend_name)
try:
    torch.polygamma(2, x)
except NotImplementedError:
    print(backend.get_fallback_mode())
"""
    assert child(program, library, backend_options, TBK_FALLBACK="error").strip() == "error"


def test_an_unknown_mode_is_refused_when_loading(
    child: Callable[..., str], library: Any, backend_options: str
) -> None:
    program = """
import os, sys, torch, torch_tbk
load = lambda: torch_tbk.load(sys.argv[1], options=sys.argv[2])
try:
    load()
except ValueError as error:
    print(error)
os.environ["TBK_FALLBACK"] = "warn"
print(load().get_fallback_mode())
"""
    said = child(program, library, backend_options, TBK_FALLBACK="loud")
    assert said == "TBK_FALLBACK is 'loud'; it is silent, warn or error\nwarn\n"


def test_a_written_view_changes_its_base_and_no_more(device: torch.device) -> None:
    views: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = (
        lambda x: x[:, 1],
        lambda x: x[1:3],
        lambda x: x.t()[::2],
        lambda x: x[2, 2],
    )
    for view in views:
        here = rising(4, 5)
        there = here.to(device)
        polygamma(view(here), out=view(here))
        polygamma(view(there), out=view(there))
        assert torch.equal(there.cpu(), here)


def test_what_aliases_still_aliases(device: torch.device, operators: Any) -> None:
    """The same memory under two views: each must see what the other wrote."""
    base = rising(6).to(device)
    operators.twice_([base, base[2:], base[4:]])
    assert base.cpu().tolist() == [2.0, 4.0, 12.0, 16.0, 40.0, 48.0]


@pytest.mark.parametrize("shape", [(5, 4), (4, 1, 5), (0, 3), ()])
def test_results_keep_the_strides_of_the_cpu(device: torch.device, shape: tuple[int, ...]) -> None:
    x = rising(*shape)
    for view in (x, x.mT if x.dim() > 1 else x, x.expand(2, *x.shape)):
        expected = polygamma(view)
        result = polygamma(view.to(device))
        assert result.device == device
        assert result.stride() == expected.stride()
        assert torch.equal(result.cpu(), expected)


def test_out_is_resized_with_the_warning_of_the_cpu(device: torch.device) -> None:
    x = rising(3, 4).to(device)
    out = torch.empty(0, device=device)
    polygamma(x, out=out)
    wrong = torch.empty(2, device=device)
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        polygamma(x, out=wrong)
    for each in (out, wrong):
        assert torch.equal(each.cpu(), polygamma(rising(3, 4)))


def test_an_output_of_unknown_size_is_resized(device: torch.device) -> None:
    x = torch.tensor([0.0, 3.0, 0.0, 5.0]).to(device)
    out = torch.empty(0, dtype=torch.int64, device=device)
    assert torch.nonzero(x, out=out) is out
    assert out.cpu().tolist() == [[1], [3]]


def test_lists_and_optional_tensors(device: torch.device, operators: Any) -> None:
    x, y = rising(3), rising(3) + 10
    assert torch.equal(torch.cat([x.to(device), y.to(device)]).cpu(), torch.cat([x, y]))
    assert operators.maybe(None, [None, x.to(device), y.to(device)]).cpu().tolist() == [12, 14, 16]
    assert operators.maybe(x.to(device), []).device == device


def test_indices_may_be_on_the_host(device: torch.device) -> None:
    x = rising(4, 5)
    there = x.to(device)
    index = torch.tensor([3, 1])
    assert torch.equal(there[index].cpu(), x[index])
    assert torch.equal(there[:, index.to(device)].cpu(), x[:, index])
    there[index] = 0.0
    x[index] = 0.0
    assert torch.equal(there.cpu(), x)


def test_a_number_on_the_host_is_no_other_device(device: torch.device) -> None:
    x = rising(4)
    two = torch.tensor(2.0)
    torch.testing.assert_close(torch.atan2(x.to(device), two).cpu(), torch.atan2(x, two))


def test_tensors_of_two_devices_are_refused(device: torch.device) -> None:
    x = rising(4)
    for call in (
        lambda: torch.atan2(x.to(device), x),
        lambda: torch.cat([x.to(device), x]),
        lambda: torch.add(x.to(device), x),
        lambda: torch.sort(x, out=(x.to(device), torch.empty(4, dtype=torch.int64))),
    ):
        with pytest.raises(RuntimeError, match=r"same device|on device|device type"):
            call()


def test_two_devices_of_the_backend_are_two(
    device: torch.device, other_device: torch.device
) -> None:
    x = rising(4)
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        torch.atan2(x.to(device), x.to(other_device))


def test_errors_are_those_of_the_cpu(device: torch.device) -> None:
    bad = torch.tensor([[1.0, 2.0], [2.0, 1.0]])
    for call in (
        torch.linalg.cholesky,
        lambda x: torch.gather(x, 0, torch.full((1, 2), 0.5).to(x.device)),
        lambda x: torch.stack([x, x[0]]),
        lambda x: torch.nn.functional.nll_loss(x, torch.tensor([0.0, 1.0]).to(x.device)),
    ):
        with pytest.raises(Exception) as here:  # noqa: PT011  # whatever the CPU says
            call(bad)
        with pytest.raises(type(here.value)) as there:
            call(bad.to(device))
        assert str(there.value) == str(here.value)


def test_a_view_never_falls_back(device: torch.device, operators: Any) -> None:
    with pytest.raises(NotImplementedError, match=r"tbk_fallback_test::see.*view"):
        operators.see(rising(2, 3).to(device))


def test_what_the_cpu_lacks_is_said_to_be_missing(
    device: torch.device, backend: DeviceModule, operators: Any
) -> None:
    with pytest.raises(NotImplementedError, match=f"nowhere: neither.*{backend.backend_name}"):
        operators.nowhere(rising(2).to(device))


def test_sparse_and_quantised_are_refused_in_a_line(device: torch.device) -> None:
    x = rising(2, 2).to(device)
    calls: tuple[Callable[[], Any], ...] = (
        x.to_sparse,
        lambda: torch.quantize_per_tensor(x, 0.1, 0, torch.quint8),
        lambda: polygamma(x, out=rising(2, 2).to_sparse()),
    )
    for call in calls:
        with pytest.raises((NotImplementedError, RuntimeError)) as refused:
            call()
        assert str(refused.value)


def test_statistics_that_no_schema_mentions_are_updated(
    device: torch.device, backend: DeviceModule
) -> None:
    x = torch.randn(8, 3, generator=torch.Generator().manual_seed(0))
    here = torch.nn.BatchNorm1d(3)
    there = torch.nn.BatchNorm1d(3).to(device)
    with backend.forced_route("named"):  # so that it falls back
        torch.testing.assert_close(there(x.to(device)).cpu(), here(x))
    for name, buffer in here.named_buffers():
        assert torch.equal(there.get_buffer(name).cpu(), buffer), name


def test_a_storage_that_was_taken_away_is_no_crash(device: torch.device) -> None:
    x = rising(4).to(device)
    x.untyped_storage().resize_(0)
    with pytest.raises(RuntimeError, match="needs 16 bytes, and its storage has 0"):
        polygamma(x)


def test_gradients_and_versions(device: torch.device) -> None:
    x = rising(4).to(device).requires_grad_()
    polygamma(x).sum().backward()
    expected = rising(4).requires_grad_()
    polygamma(expected).sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad.cpu(), expected.grad)
    y = rising(4).to(device)
    version = y._version
    y.erfinv_()
    assert y._version == version + 1


def test_a_result_is_its_argument_where_the_schema_says_so(device: torch.device) -> None:
    x = rising(4).to(device)
    assert x.erfinv_() is x
    values, indices = torch.empty(4, device=device), torch.empty(4, device=device).long()
    result = torch.sort(rising(4).to(device), out=(values, indices))
    assert result[0] is values
    assert result[1] is indices


def test_a_device_argument_says_where(device: torch.device) -> None:
    result = torch.tril_indices(3, 3, device=device)
    assert result.device == device
    assert torch.equal(result.cpu(), torch.tril_indices(3, 3))


def test_conjugate_views_are_seen(device: torch.device) -> None:
    x = torch.complex(rising(3, 3), rising(3, 3).t())
    for call in (
        lambda x: x.conj().exp(),
        lambda x: torch.vdot(x[0].conj(), x[1]),
        lambda x: x.conj().imag.neg().cosh(),
        lambda x: x.conj() @ x.mH,
    ):
        torch.testing.assert_close(call(x.to(device)).cpu(), call(x))


def test_a_result_that_is_conjugated_by_its_bit_comes_back(device: torch.device) -> None:
    left, right = (torch.randn(shape, dtype=torch.complex64) for shape in ((3, 3), (2, 3)))
    factors, pivots = torch.linalg.lu_factor(left)
    expected = torch.linalg.lu_solve(factors, pivots, right, left=False)
    on_device = (factors.to(device), pivots.to(device), right.to(device))
    solved = torch.linalg.lu_solve(*on_device, left=False)
    assert expected.is_conj()  # or this shows nothing
    assert torch.equal(solved.cpu(), expected)


def test_the_autocast_of_the_cpu_has_no_say(device: torch.device) -> None:
    x = torch.eye(3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        result = torch.linalg.matrix_power(x.to(device), 3)
    assert result.dtype == torch.float32


def test_an_output_of_what_asks_for_the_kind_of_device(device: torch.device) -> None:
    values, indices = torch.empty(0, device=device), torch.empty(0, device=device).long()
    torch.mode(torch.tensor([3.0, 1.0, 3.0], device=device), out=(values, indices))
    assert (values.item(), indices.item()) == (3, 2)
